// A kafkajs producer and a member of a group, with their default settings, that work until standard
// input ends. The producer writes numbers to each of three partitions, one every 100 ms.
//
// Arguments: bootstrap servers, topic, group. Prints a JSON object a line, each with "event" and
// "at" (milliseconds): "sent", "read", "joined" (a group join), "crashed" (the consumer stops, and
// restarts if "restart"), "failed" (a send), "ended".

const { Kafka, logLevel } = require("kafkajs");

const PAUSE_MS = 100;
const [servers, topic, group] = process.argv.slice(2);
const brokers = servers.split(",");
const kafka = new Kafka({ clientId: "steady", brokers, logLevel: logLevel.NOTHING });

function print(event, fields) {
  console.log(JSON.stringify({ event, at: Date.now(), ...fields }));
}

let over = false;
const ended = new Promise((resolve) => process.stdin.resume().on("end", resolve)).then(() => {
  over = true;
});

async function produce() {
  const producer = kafka.producer();
  await producer.connect();
  await Promise.all([0, 1, 2].map((partition) => produceTo(producer, partition)));
  await producer.disconnect();
}

async function produceTo(producer, partition) {
  for (let number = 0; !over; number += 1) {
    try {
      await producer.send({ topic, messages: [{ partition, value: String(number) }] });
      print("sent", { partition, number });
    } catch ({ name, message }) {
      print("failed", { partition, name, message });
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function consume() {
  const consumer = kafka.consumer({ groupId: group });
  const { GROUP_JOIN, CRASH } = consumer.events;
  consumer.on(GROUP_JOIN, ({ payload }) => print("joined", { assigned: payload.memberAssignment }));
  consumer.on(CRASH, ({ payload: { error, restart } }) => {
    print("crashed", { restart, name: error.name, message: error.message });
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      print("read", { partition, number: Number(message.value) });
    },
  });
  await ended;
  await consumer.disconnect();
}

Promise.all([produce(), consume()]).then(
  () => print("ended", {}),
  ({ name, message }) => {
    print("error", { name, message });
    process.exit(1);
  },
);
