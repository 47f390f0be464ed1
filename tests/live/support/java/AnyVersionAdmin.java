import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** The part of AnyVersion that uses the admin client. */
final class AnyVersionAdmin implements AutoCloseable {
    private final AnyVersionRun run;
    private final AdminClient admin;

    AnyVersionAdmin(AnyVersionRun run) {
        this.run = run;
        this.admin = AdminClient.create(run.settings(Map.of()));
    }

    @Override
    public void close() {
        admin.close();
    }

    /** Creates two topics, of so many partitions and of two. */
    void create(String in, int partitions, String out) throws Exception {
        NewTopic wanted = new NewTopic(in, partitions, (short) 1);
        wanted.configs(Map.of("retention.ms", "3600000"));
        admin.createTopics(List.of(wanted, new NewTopic(out, 1, (short) 1))).all().get();
        AnyVersionRun.until("topics", () -> partitions(in) == partitions && partitions(out) == 1);
        AnyVersionRun.print("nodes", admin.describeCluster().nodes().get().size());
        AnyVersionRun.print("listed", run.own(admin.listTopics().names().get()));
        error("exists", admin.createTopics(List.of(wanted)).all());
        error("illegal", create(run.name("in valid"), 1, Map.of()));
        error("replicas", create(run.name("other"), 9, Map.of()));
        error("config", create(run.name("other"), 1, Map.of("retention.ms", "x")));
        grow(out, 2).get();
        AnyVersionRun.until("a partition more", () -> partitions(out) == 2);
        error("fewer", grow(out, 1));
        error("missing", grow(run.name("other"), 3));
        error("undescribed", described(run.name("other")));
    }

    private static void error(String event, Future<?> future) throws Exception {
        AnyVersionRun.print(event, AnyVersionRun.error(future));
    }

    private Future<?> create(String name, int replicas, Map<String, String> configs) {
        NewTopic topic = new NewTopic(name, 1, (short) replicas);
        return admin.createTopics(List.of(topic.configs(configs))).all();
    }

    private Future<?> grow(String topic, int partitions) {
        return admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(partitions))).all();
    }

    private Future<?> described(String name) {
        Object result = admin.describeTopics(List.of(name));
        try {
            return all(result, "allTopicNames");
        } catch (NoSuchMethodException before) {  // 3.1
            return all(result);
        }
    }

    /** The number of a topic's partitions, or 0 unless each has a leader. */
    private int partitions(String name) throws InterruptedException {
        try {
            TopicDescription topic = (TopicDescription) ((Map<?, ?>) described(name).get()).get(name);
            boolean led = topic.partitions().stream().allMatch(
                each -> each.leader() != null && !each.leader().isEmpty());
            return led && topic.name().equals(name) ? topic.partitions().size() : 0;
        } catch (ExecutionException error) {
            return 0;
        }
    }

    void configs(String topic) throws Exception {
        AnyVersionRun.print("configs", config(topic, "retention.ms"), config(topic, "cleanup.policy"));
        alter(topic, "retention.ms", "7200000").get();
        AnyVersionRun.until("the config", () -> config(topic, "retention.ms").contains("7200000"));
        AnyVersionRun.print("altered", config(topic, "retention.ms"));
        error("wrong-config", alter(topic, "retention.ms", "x"));
        error("config-of-missing", alter(run.name("other"), "retention.ms", "1"));
    }

    private String config(String topic, String key) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigEntry entry =
            admin.describeConfigs(List.of(resource)).all().get().get(resource).get(key);
        return entry.value() + " " + entry.source() + " " + entry.isReadOnly();
    }

    /** IncrementalAlterConfigs from 2.3 on, AlterConfigs before. */
    private Future<?> alter(String topic, String key, String value) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigEntry entry = new ConfigEntry(key, value);
        String method = "incrementalAlterConfigs";
        Object change;
        try {
            Class<?> type = Class.forName("org.apache.kafka.clients.admin.AlterConfigOp$OpType");
            Class<?> operation = Class.forName("org.apache.kafka.clients.admin.AlterConfigOp");
            change = List.of(operation.getConstructor(ConfigEntry.class, type)
                .newInstance(entry, type.getField("SET").get(null)));
        } catch (ClassNotFoundException before) {
            method = "alterConfigs";
            change = new Config(List.of(entry));
        }
        return all(AdminClient.class.getMethod(method, Map.class)
            .invoke(admin, Collections.singletonMap(resource, change)));
    }

    private static Future<?> all(Object result) {
        try {
            return all(result, "all");
        } catch (NoSuchMethodException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Future<?> all(Object result, String method) throws NoSuchMethodException {
        try {
            return (Future<?>) result.getClass().getMethod(method).invoke(result);
        } catch (IllegalAccessException | InvocationTargetException error) {
            throw new IllegalStateException(error);
        }
    }

    void members(String group) throws Exception {
        ConsumerGroupDescription found =
            admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        Set<String> assigned = new TreeSet<>();
        found.members().forEach(member -> member.assignment().topicPartitions().forEach(
            each -> assigned.add(run.shown(each))));
        AnyVersionRun.print("members", found.members().size(), found.partitionAssignor(), assigned);
    }

    void groups() throws Exception {
        List<String> found = new ArrayList<>();
        admin.listConsumerGroups().all().get().forEach(each -> found.add(each.groupId()));
        AnyVersionRun.print("groups", run.own(found));
    }

    Map<String, Long> committed(String group) throws Exception {
        Map<String, Long> found = new TreeMap<>();
        admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().forEach(
            (partition, offset) -> found.put(run.shown(partition), offset.offset()));
        return found;
    }

    void delete(String group) throws Exception {
        error("group-deleted", admin.deleteConsumerGroups(List.of(group)).all());
        error("group-gone", admin.deleteConsumerGroups(List.of(group)).all());
    }

    Future<?> deleteRecords(TopicPartition partition, long before) {
        return admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(before))).all();
    }

    void delete(String in, String out) throws Exception {
        admin.deleteTopics(List.of(in, out)).all().get();
        for (String topic : List.of(in, out)) {
            AnyVersionRun.until("the end of " + topic, () ->
                AnyVersionRun.error(described(topic)).equals("UnknownTopicOrPartitionException"));
        }
        error("topic-gone", admin.deleteTopics(List.of(in)).all());
        AnyVersionRun.print("left", run.own(admin.listTopics().names().get()));
    }
}
