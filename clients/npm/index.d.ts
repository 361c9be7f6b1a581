export interface Options {
  /** The program and its first arguments; default: what `findCommand` finds. */
  command?: string[];
  /** A file that declares tables: a template of CloudFormation, SAM or CDK, serverless.yml, ... */
  tables?: string;
  /** More arguments of `hashrange serve`, such as `["--fault", "throttle=0.1"]`. */
  args?: string[];
}

export interface Server {
  readonly url: string;
  readonly adminUrl: string;
  /** Variables by which the AWS SDKs find the server, with dummy keys. */
  readonly env: Record<string, string>;
  /** Go back to the start: the tables of `tables`, without items. */
  reset(): Promise<void>;
  /** Take a snapshot, which replaces one of the same name. */
  keep(name: string): Promise<void>;
  /** Go back to a snapshot. */
  load(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** Start a server with an empty database in memory, which ends with this process. */
export function start(options?: Options): Promise<Server>;

/** The first way to run hashrange that works here. Throws an Error if there is none. */
export function findCommand(): string[];
