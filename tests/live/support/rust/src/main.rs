//! The life of a topic by rskafka: records of each codec, fetches, offsets, deletions, and errors.
//!
//! Arguments: bootstrap servers, topic. Prints an event a line: its name, then its values.

use std::{
    collections::BTreeMap,
    env,
    fmt::Debug,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use futures::{StreamExt, future::try_join_all};
use rskafka::{
    chrono::{DateTime, TimeDelta, Utc},
    client::{
        Client, ClientBuilder,
        consumer::{StartOffset, StreamConsumerBuilder},
        error::Error,
        partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling},
        producer::{BatchProducerBuilder, aggregator::RecordAggregator},
    },
    record::{Record, RecordAndOffset},
};

const CODECS: [Compression; 5] = [
    Compression::NoCompression,
    Compression::Gzip,
    Compression::Lz4,
    Compression::Snappy,
    Compression::Zstd,
];
const MILLISECONDS: i32 = 10_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Prints an event with its values.
fn print(event: &str, values: impl Debug) {
    println!("{event} {values:?}");
}

/// Prints the error that a request has to end with.
fn failed<T: Debug>(event: &str, result: Result<T, Error>) {
    match result {
        Err(error) => print(event, error.to_string()),
        Ok(value) => panic!("{event}: no error, but {value:?}"),
    }
}

/// A record whose timestamp is a number of seconds later than another one's.
fn record(number: i64, start: DateTime<Utc>) -> Record {
    Record {
        key: Some(format!("key-{number}").into_bytes()),
        value: (number != 2).then(|| format!("value-{number}").into_bytes()),
        headers: BTreeMap::from([("number".to_owned(), number.to_string().into_bytes())]),
        timestamp: start + TimeDelta::seconds(number),
    }
}

/// Prints records, with times relative to the first record's.
fn print_records(event: &str, records: &[RecordAndOffset], start: DateTime<Utc>) {
    for RecordAndOffset { record, offset } in records {
        let text = |bytes: &Option<Vec<u8>>| bytes.clone().map(String::from_utf8);
        let after = (record.timestamp - start).num_milliseconds();
        print(event, (offset, text(&record.key), text(&record.value), &record.headers, after));
    }
}

/// Waits until the partition is led, because a broker goes by a creation after its response.
async fn led(client: &Client, topic: &str, partition: i32) -> Outcome<PartitionClient> {
    let found = client.partition_client(topic, partition, UnknownTopicHandling::Retry).await?;
    found.get_offset(OffsetAt::Latest).await?;
    Ok(found)
}

/// The partitions of a topic, if it is listed.
async fn partitions(client: &Client, topic: &str) -> Outcome<Option<Vec<i32>>> {
    let mut listed = client.list_topics().await?.into_iter();
    let found = listed.find(|each| each.name == topic);
    Ok(found.map(|each| each.partitions.into_iter().collect()))
}

async fn offsets(partition: &PartitionClient, start: DateTime<Utc>) -> Outcome<()> {
    let at = |number: i64| OffsetAt::Timestamp(start + TimeDelta::seconds(number));
    for (name, which) in [
        ("earliest", OffsetAt::Earliest),
        ("latest", OffsetAt::Latest),
        ("at-3", at(3)),
        ("after-all", at(1000)),
    ] {
        print(name, partition.get_offset(which).await?);
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().collect();
    let [_, servers, topic] = &arguments[..] else {
        panic!("arguments: bootstrap servers, topic");
    };
    let client = ClientBuilder::new(vec![servers.clone()]).client_id("rskafka").build().await?;
    tokio::time::timeout(Duration::from_secs(100), life(&client, topic)).await?
}

async fn life(client: &Client, topic: &str) -> Outcome<()> {
    let controller = client.controller_client()?;
    controller.create_topic(topic, 2, 1, MILLISECONDS).await?;
    failed("exists", controller.create_topic(topic, 2, 1, MILLISECONDS).await);
    failed("replicas", controller.create_topic(format!("{topic}-2"), 1, 9, MILLISECONDS).await);
    let partition = led(client, topic, 0).await?;
    led(client, topic, 1).await?;
    print("listed", partitions(client, topic).await?);
    let lacking = client.partition_client(topic, 7, UnknownTopicHandling::Error).await;
    failed("no-partition", lacking);

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let start = DateTime::from_timestamp(now as i64 - 3600, 0).expect("a time within chrono's");
    for (number, codec) in (0..).zip(CODECS) {
        let records = vec![record(number * 2, start), record(number * 2 + 1, start)];
        print("sent", (codec, partition.produce(records, codec).await?));
    }
    offsets(&partition, start).await?;
    for from in [0, 7] {
        let (records, end) = partition.fetch_records(from, 1..1_000_000, 1000).await?;
        print("fetched", (from, end));
        print_records("record", &records, start);
    }
    failed("out-of-range", partition.fetch_records(11, 1..1_000_000, 1000).await);

    let partition = Arc::new(partition);
    let producer = BatchProducerBuilder::new(Arc::clone(&partition))
        .with_compression(Compression::Zstd)
        .build(RecordAggregator::new(1_000_000));
    let batch = (10..13).map(|number| producer.produce(record(number, start)));
    print("batch", try_join_all(batch).await?);

    partition.delete_records(4, MILLISECONDS).await?;
    offsets(&partition, start).await?;
    failed("deleted", partition.fetch_records(0, 1..1_000_000, 1000).await);
    failed("beyond", partition.delete_records(99, MILLISECONDS).await);
    let mut stream = StreamConsumerBuilder::new(partition, StartOffset::Earliest).build();
    for _ in 4..13 {
        let (found, end) = stream.next().await.expect("a stream has no end")?;
        print("high-watermark", end);
        print_records("streamed", &[found], start);
    }
    drop(stream);

    controller.delete_topic(topic, MILLISECONDS).await?;
    while partitions(client, topic).await?.is_some() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    failed("gone", controller.delete_topic(topic, MILLISECONDS).await);
    Ok(())
}
