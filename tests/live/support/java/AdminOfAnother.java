import com.fasterxml.jackson.databind.ObjectMapper;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionReplica;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;

/**
 * Calls each method of Java's Admin client with the names of things: a topic, its id, a group and a
 * transactional id. All calls are made at once, because some of them retry until they time out.
 *
 * <p>Arguments: a file of client properties, bootstrap servers, topic, topic id, group, transactional
 * id. Prints a line of JSON for each method: its name, and what it returns or throws as text; an
 * abstract method that has no call here is printed with "missing".
 */
public final class AdminOfAnother {
    private interface Call {
        Object on(Admin admin) throws Exception;
    }

    /** Methods that are about the client, or end it. */
    private static final Set<String> OF_THE_CLIENT = Set.of(
        "close", "metrics", "clientInstanceId", "registerMetricForSubscription",
        "unregisterMetricFromSubscription");

    private AdminOfAnother() {}

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        try (var file = java.nio.file.Files.newBufferedReader(java.nio.file.Path.of(args[0]))) {
            settings.load(file);
        }
        settings.put("bootstrap.servers", args[1]);
        settings.put("request.timeout.ms", "4000");
        settings.put("default.api.timeout.ms", "4000");
        settings.put("enable.metrics.push", "false");
        Map<String, Call> calls = calls(args[2], Uuid.fromString(args[3]), args[4], args[5]);
        Map<String, Object> results = new LinkedHashMap<>();
        try (Admin admin = Admin.create(settings)) {
            for (Map.Entry<String, Call> each : calls.entrySet()) {
                try {
                    results.put(each.getKey(), each.getValue().on(admin));
                } catch (Exception error) {
                    results.put(each.getKey(), error);
                }
            }
            for (Map.Entry<String, Object> each : results.entrySet()) {
                print(each.getKey(), shown(each.getValue()));
            }
        }
        Set<String> missing = new TreeSet<>();
        for (Method method : Admin.class.getMethods()) {
            if (Modifier.isAbstract(method.getModifiers())
                    && calls.keySet().stream().noneMatch(name -> name.split(" ")[0].equals(method.getName()))
                    && !OF_THE_CLIENT.contains(method.getName())) {
                missing.add(method.getName());
            }
        }
        print("missing", missing.toString());
    }

    private static Map<String, Call> calls(String topic, Uuid id, String group, String transaction) {
        TopicPartition partition = new TopicPartition(topic, 0);
        TopicPartitionReplica replica = new TopicPartitionReplica(topic, 0, 1);
        Set<TopicPartition> partitions = Set.of(partition);
        ConfigResource ofTopic = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        ConfigResource ofGroup = new ConfigResource(ConfigResource.Type.GROUP, group);
        AlterConfigOp keep = new AlterConfigOp(
            new ConfigEntry("retention.ms", "1"), AlterConfigOp.OpType.SET);
        AlterConfigOp timeout = new AlterConfigOp(
            new ConfigEntry("consumer.session.timeout.ms", "46000"), AlterConfigOp.OpType.SET);
        AclBinding acl = new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, topic, PatternType.LITERAL),
            new AccessControlEntry("User:carol", "*", AclOperation.READ, AclPermissionType.ALLOW));
        OffsetAndMetadata offset = new OffsetAndMetadata(0);
        ClientQuotaEntity user = new ClientQuotaEntity(Map.of(ClientQuotaEntity.USER, "alice"));
        Map<String, Call> calls = new TreeMap<>();
        calls.put("createTopics", a -> a.createTopics(List.of(new NewTopic(topic, 1, (short) 1))));
        calls.put("deleteTopics", a -> a.deleteTopics(List.of(topic)));
        calls.put("deleteTopics by id", a -> a.deleteTopics(TopicCollection.ofTopicIds(List.of(id))));
        calls.put("listTopics", a -> a.listTopics(new ListTopicsOptions().listInternal(true)));
        calls.put("describeTopics", a -> a.describeTopics(List.of(topic)));
        calls.put("describeTopics by id", a -> a.describeTopics(TopicCollection.ofTopicIds(List.of(id))));
        calls.put("describeCluster", a -> a.describeCluster());
        calls.put("describeAcls", a -> a.describeAcls(new AclBindingFilter(
            new ResourcePatternFilter(ResourceType.ANY, topic, PatternType.MATCH), AccessControlEntryFilter.ANY)));
        calls.put("describeAcls all", a -> a.describeAcls(AclBindingFilter.ANY));
        calls.put("createAcls", a -> a.createAcls(List.of(acl)));
        calls.put("deleteAcls", a -> a.deleteAcls(List.of(acl.toFilter())));
        calls.put("describeConfigs", a -> a.describeConfigs(List.of(ofTopic)));
        calls.put("describeConfigs of a group", a -> a.describeConfigs(List.of(ofGroup)));
        calls.put("incrementalAlterConfigs", a -> a.incrementalAlterConfigs(Map.of(ofTopic, List.of(keep))));
        calls.put("incrementalAlterConfigs of a group",
            a -> a.incrementalAlterConfigs(Map.of(ofGroup, List.of(timeout))));
        calls.put("alterReplicaLogDirs", a -> a.alterReplicaLogDirs(Map.of(replica, "/var/lib/kafka")));
        calls.put("describeLogDirs", a -> a.describeLogDirs(List.of(1)));
        calls.put("describeReplicaLogDirs", a -> a.describeReplicaLogDirs(List.of(replica)));
        calls.put("createPartitions", a -> a.createPartitions(Map.of(topic, NewPartitions.increaseTo(4))));
        calls.put("deleteRecords", a -> a.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(-1))));
        calls.put("createDelegationToken", a -> a.createDelegationToken());
        calls.put("renewDelegationToken", a -> a.renewDelegationToken(new byte[] {1}));
        calls.put("expireDelegationToken", a -> a.expireDelegationToken(new byte[] {1}));
        calls.put("describeDelegationToken", a -> a.describeDelegationToken());
        calls.put("describeConsumerGroups", a -> a.describeConsumerGroups(List.of(group)));
        calls.put("describeClassicGroups", a -> a.describeClassicGroups(List.of(group)));
        calls.put("describeShareGroups", a -> a.describeShareGroups(List.of(group)));
        calls.put("describeStreamsGroups", a -> a.describeStreamsGroups(List.of(group)));
        calls.put("listConsumerGroups", a -> a.listConsumerGroups());
        calls.put("listGroups", a -> a.listGroups());
        calls.put("listConsumerGroupOffsets", a -> a.listConsumerGroupOffsets(group));
        calls.put("listConsumerGroupOffsets of a topic", a -> a.listConsumerGroupOffsets(
            Map.of(group, new ListConsumerGroupOffsetsSpec().topicPartitions(partitions))));
        calls.put("listStreamsGroupOffsets", a -> a.listStreamsGroupOffsets(
            Map.of(group, new ListStreamsGroupOffsetsSpec())));
        calls.put("listShareGroupOffsets", a -> a.listShareGroupOffsets(
            Map.of(group, new ListShareGroupOffsetsSpec())));
        calls.put("deleteConsumerGroups", a -> a.deleteConsumerGroups(List.of(group)));
        calls.put("deleteStreamsGroups", a -> a.deleteStreamsGroups(List.of(group)));
        calls.put("deleteShareGroups", a -> a.deleteShareGroups(List.of(group)));
        calls.put("deleteConsumerGroupOffsets", a -> a.deleteConsumerGroupOffsets(group, partitions));
        calls.put("deleteStreamsGroupOffsets", a -> a.deleteStreamsGroupOffsets(group, partitions));
        calls.put("deleteShareGroupOffsets", a -> a.deleteShareGroupOffsets(group, Set.of(topic)));
        calls.put("alterConsumerGroupOffsets", a -> a.alterConsumerGroupOffsets(group, Map.of(partition, offset)));
        calls.put("alterStreamsGroupOffsets", a -> a.alterStreamsGroupOffsets(group, Map.of(partition, offset)));
        calls.put("alterShareGroupOffsets", a -> a.alterShareGroupOffsets(group, Map.of(partition, 0L)));
        calls.put("removeMembersFromConsumerGroup", a -> a.removeMembersFromConsumerGroup(
            group, new RemoveMembersFromConsumerGroupOptions()));
        calls.put("electLeaders", a -> a.electLeaders(ElectionType.PREFERRED, partitions));
        calls.put("alterPartitionReassignments", a -> a.alterPartitionReassignments(
            Map.of(partition, Optional.of(new NewPartitionReassignment(List.of(1))))));
        calls.put("listPartitionReassignments", a -> a.listPartitionReassignments(partitions));
        calls.put("listOffsets", a -> a.listOffsets(Map.of(partition, OffsetSpec.latest())));
        calls.put("describeClientQuotas", a -> a.describeClientQuotas(ClientQuotaFilter.all()));
        calls.put("alterClientQuotas", a -> a.alterClientQuotas(List.of(new ClientQuotaAlteration(
            user, List.of(new ClientQuotaAlteration.Op("consumer_byte_rate", 1.0))))));
        calls.put("describeUserScramCredentials", a -> a.describeUserScramCredentials());
        calls.put("alterUserScramCredentials", a -> a.alterUserScramCredentials(List.of(
            new UserScramCredentialDeletion("alice", ScramMechanism.SCRAM_SHA_256))));
        calls.put("describeFeatures", a -> a.describeFeatures());
        calls.put("updateFeatures", a -> a.updateFeatures(
            Map.of("group.version", new FeatureUpdate((short) 1, FeatureUpdate.UpgradeType.UPGRADE)),
            new UpdateFeaturesOptions()));
        calls.put("describeMetadataQuorum", a -> a.describeMetadataQuorum());
        calls.put("unregisterBroker", a -> a.unregisterBroker(77));
        calls.put("describeProducers", a -> a.describeProducers(partitions));
        calls.put("describeTransactions", a -> a.describeTransactions(List.of(transaction)));
        calls.put("listTransactions", a -> a.listTransactions());
        calls.put("abortTransaction", a -> a.abortTransaction(new AbortTransactionSpec(partition, 0, (short) 0, 0)));
        calls.put("fenceProducers", a -> a.fenceProducers(List.of(transaction)));
        calls.put("forceTerminateTransaction", a -> a.forceTerminateTransaction(transaction));
        calls.put("listConfigResources", a -> a.listConfigResources());
        calls.put("listClientMetricsResources", a -> a.listClientMetricsResources());
        calls.put("addRaftVoter", a -> a.addRaftVoter(77, Uuid.ONE_UUID, Set.of(
            new RaftVoterEndpoint("CONTROLLER", "localhost", 1))));
        calls.put("removeRaftVoter", a -> a.removeRaftVoter(77, Uuid.ONE_UUID));
        return calls;
    }

    /** What a result's futures hold, by the methods without arguments that return them. */
    private static String shown(Object result) throws Exception {
        if (result instanceof Exception) {
            return result.toString();
        }
        Map<String, String> shown = new TreeMap<>();
        for (Method method : result.getClass().getMethods()) {
            if (method.getParameterCount() > 0 || method.getDeclaringClass() == Object.class
                    || method.getName().equals("hashCode") || method.getName().equals("toString")) {
                continue;
            }
            try {
                shown.put(method.getName(), value(method.invoke(result)));
            } catch (java.lang.reflect.InvocationTargetException error) {
                shown.put(method.getName(), String.valueOf(error.getCause()));
            }
        }
        return shown.toString();
    }

    private static String value(Object held) throws Exception {
        if (held instanceof KafkaFuture) {
            try {
                return value(((KafkaFuture<?>) held).get(30, TimeUnit.SECONDS));
            } catch (ExecutionException error) {
                return String.valueOf(error.getCause());
            }
        }
        if (held instanceof Map) {
            Map<String, String> inner = new TreeMap<>();
            for (Map.Entry<?, ?> each : ((Map<?, ?>) held).entrySet()) {
                inner.put(String.valueOf(each.getKey()), value(each.getValue()));
            }
            return inner.toString();
        }
        if (held instanceof Collection) {
            Set<String> inner = new TreeSet<>();
            for (Object each : (Collection<?>) held) {
                inner.add(value(each));
            }
            return inner.toString();
        }
        return String.valueOf(held);
    }

    private static void print(String method, String result) throws Exception {
        System.out.println(new ObjectMapper().writeValueAsString(Map.of("method", method, "result", result)));
    }
}
