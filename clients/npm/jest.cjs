// A test environment of jest: each test file has an empty database, which the AWS SDK finds.
// `testEnvironmentOptions` are the options of `start`.

const { TestEnvironment } = require("jest-environment-node");

module.exports = class extends TestEnvironment {
  #options;
  #server;

  constructor(config, context) {
    super(config, context);
    const { command, tables, args } = config.projectConfig.testEnvironmentOptions;
    this.#options = { command, tables: tables ?? process.env.HASHRANGE_TABLES, args };
  }

  async setup() {
    await super.setup();
    const { start } = await import("./index.js");
    this.#server = await start(this.#options);
    Object.assign(this.global.process.env, this.#server.env);
    this.global.hashrange = this.#server;
  }

  async teardown() {
    await this.#server?.stop();
    await super.teardown();
  }
};
