/** The options of a client for the server under test, as a program passes them in code. */
export const config = {
  endpoint: process.env.ENDPOINT,
  region: process.env.AWS_REGION,
  credentials: {
    accessKeyId: process.env.AWS_ACCESS_KEY_ID,
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
  },
};

/** The input of CreateTable for a table with the string keys `pk` and `sk`. */
export function singleTable(TableName, more = {}) {
  return {
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [
      { AttributeName: "pk", AttributeType: "S" },
      { AttributeName: "sk", AttributeType: "S" },
    ],
    KeySchema: [
      { AttributeName: "pk", KeyType: "HASH" },
      { AttributeName: "sk", KeyType: "RANGE" },
    ],
    ...more,
  };
}

/** Everything that an asynchronous iterator yields, as an array. */
export async function collected(iterator) {
  const all = [];
  for await (const each of iterator) all.push(each);
  return all;
}
