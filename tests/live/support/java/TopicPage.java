import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListConsumerGroupOffsetsSpec;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * What the topic page of a user interface asks about the topics that are listed, all at once, so that
 * one topic without an answer costs the whole page: descriptions, configs, offsets (by the admin
 * client, and by a consumer as AKHQ does), producers, log directories and a group's offsets.
 *
 * <p>Arguments: bootstrap servers, what the names of the topics begin with, group, and the seconds
 * that each call may take. Prints "WHAT TOPIC-PARTITION VALUE" lines; an exception ends it.
 */
public final class TopicPage {
    private TopicPage() {}

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        String group = args[2];
        long seconds = Long.parseLong(args[3]);
        Set<TopicPartition> partitions = new HashSet<>();
        try (Admin admin = Admin.create(settings)) {
            Set<String> names = new HashSet<>(admin.listTopics(new ListTopicsOptions().listInternal(true))
                .names().get(seconds, TimeUnit.SECONDS));
            names.removeIf(name -> !name.startsWith(args[1]));
            Map<String, TopicDescription> described = new TreeMap<>(
                admin.describeTopics(names).allTopicNames().get(seconds, TimeUnit.SECONDS));
            List<ConfigResource> resources = new ArrayList<>();
            Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
            Map<TopicPartition, OffsetSpec> newest = new HashMap<>();
            for (TopicDescription topic : described.values()) {
                boolean led = true;
                for (TopicPartitionInfo each : topic.partitions()) {
                    TopicPartition partition = new TopicPartition(topic.name(), each.partition());
                    partitions.add(partition);
                    latest.put(partition, OffsetSpec.latest());
                    newest.put(partition, OffsetSpec.maxTimestamp());
                    led &= each.leader() != null && each.leader().port() > 0;
                }
                resources.add(new ConfigResource(ConfigResource.Type.TOPIC, topic.name()));
                print("led", topic.name(), led);
            }
            admin.describeConfigs(resources).all().get(seconds, TimeUnit.SECONDS).forEach(
                (resource, config) -> print("configs", resource.name(), !config.entries().isEmpty()));
            admin.listOffsets(latest).all().get(seconds, TimeUnit.SECONDS).forEach(
                (partition, found) -> print("latest", partition, found.offset()));
            admin.listOffsets(newest).all().get(seconds, TimeUnit.SECONDS).forEach(
                (partition, found) -> print("newest", partition, found.offset()));
            admin.describeProducers(partitions).all().get(seconds, TimeUnit.SECONDS).forEach(
                (partition, found) -> print("producers", partition, found.activeProducers().size()));
            List<Integer> nodes = new ArrayList<>();
            admin.describeCluster().nodes().get(seconds, TimeUnit.SECONDS)
                .forEach(node -> nodes.add(node.id()));
            admin.describeLogDirs(nodes).allDescriptions().get(seconds, TimeUnit.SECONDS).values()
                .forEach(directories -> directories.values().forEach(directory ->
                    directory.replicaInfos().keySet().forEach(
                        partition -> print("stored", partition, true))));
            ListConsumerGroupOffsetsSpec wanted =
                new ListConsumerGroupOffsetsSpec().topicPartitions(partitions);
            admin.listConsumerGroupOffsets(Map.of(group, wanted))
                .partitionsToOffsetAndMetadata(group).get(seconds, TimeUnit.SECONDS);
            print("committed", group, true);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            Duration most = Duration.ofSeconds(seconds);
            consumer.beginningOffsets(partitions, most).forEach(
                (partition, offset) -> print("begins", partition, offset));
            consumer.endOffsets(partitions, most).forEach(
                (partition, offset) -> print("ends", partition, offset));
        }
    }

    private static void print(String what, Object topic, Object value) {
        System.out.println(what + " " + topic + " " + value);
    }
}
