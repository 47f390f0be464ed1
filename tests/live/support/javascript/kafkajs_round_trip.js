// Does with kafkajs what an application does: administers topics, consumes, produces and commits in
// transactions, and reads what was committed.
//
// Arguments: bootstrap servers, input topic, output topic, group, transactional id. It creates both
// topics; writes "a", "b" and "c" to the input; copies "a" and "c" in transactions that it commits
// with their offsets, and "b" in one that it aborts; reads the output with the group GROUP-reader;
// and deletes that group. Prints a JSON object a line, each with "event". The exit status is 1 after
// an error.

const { Kafka, logLevel } = require("kafkajs");

const DEADLINE_MS = 200_000;
const [servers, input, output, group, transactionalId] = process.argv.slice(2);
const kafka = new Kafka({ clientId: "round-trip", brokers: [servers], logLevel: logLevel.ERROR });

function print(event, fields) {
  console.log(JSON.stringify({ event, ...fields }));
}

async function consume(groupId, topic, count, each) {
  const consumer = kafka.consumer({ groupId, readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  let left = count;
  await new Promise((resolve, reject) => {
    // It restarts after errors that pass, such as COORDINATOR_LOAD_IN_PROGRESS of a fresh broker.
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => restart || reject(error));
    consumer.run({
      autoCommit: false,
      eachMessage: async (record) => {
        await each(record);
        left -= 1;
        if (left === 0) resolve();
      },
    });
  });
  await consumer.disconnect();
}

async function copy(producer, { topic, partition, message }) {
  const value = message.value.toString();
  const transaction = await producer.transaction();
  await transaction.send({ topic: output, messages: [{ value }] });
  const offset = String(Number(message.offset) + 1);
  const topics = [{ topic, partitions: [{ partition, offset }] }];
  await transaction.sendOffsets({ consumerGroupId: group, topics });
  await (value === "b" ? transaction.abort() : transaction.commit());
}

// A broker answers the creation before it knows the topics, and kafkajs gives up at an unknown one.
async function known(admin) {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [input, output] });
    return topics.every(({ partitions }) => partitions.length > 0);
  } catch (error) {
    if (error.retriable || error.type === "UNKNOWN_TOPIC_OR_PARTITION") return false;
    throw error;
  }
}

async function main() {
  const admin = kafka.admin();
  await admin.connect();
  const topics = [input, output].map((topic) => ({ topic, numPartitions: 1 }));
  print("created", { created: await admin.createTopics({ topics, waitForLeaders: false }) });
  while (!(await known(admin))) await new Promise((resolve) => setTimeout(resolve, 50));
  const writer = kafka.producer();
  await writer.connect();
  const messages = ["a", "b", "c"].map((value) => ({ value }));
  await writer.send({ topic: input, messages });
  await writer.disconnect();
  const producer = kafka.producer({ transactionalId, idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  await consume(group, input, 3, (record) => copy(producer, record));
  await producer.disconnect();
  await consume(`${group}-reader`, output, 2, async ({ topic, message }) => {
    print("read", { topic, value: message.value.toString() });
  });
  print("listed", { topics: await admin.listTopics() });
  for (const { topic, partitions } of await admin.fetchOffsets({ groupId: group })) {
    print("offset", { topic, value: partitions[0].offset });
  }
  const resources = [{ type: 2, name: output, configNames: ["cleanup.policy"] }];
  const configs = await admin.describeConfigs({ resources, includeSynonyms: false });
  print("config", { topic: configs.resources[0].resourceName });
  await admin.deleteGroups([`${group}-reader`]);
  print("groups", { groups: (await admin.listGroups()).groups.map((each) => each.groupId) });
  await admin.disconnect();
}

setTimeout(() => {
  print("error", { message: `not done within ${DEADLINE_MS} ms` });
  process.exit(1);
}, DEADLINE_MS).unref();
main().catch((error) => {
  print("error", { name: error.name, message: error.message });
  process.exit(1);
});
