// Produces to a topic and reads it as a member of a group, by kafka-go, which has no transactions
// for programs.
//
// Arguments: bootstrap servers, topic, a second topic, group. Creates both topics, and describes
// and deletes them in the end.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"kafka-gateway-clients/events"

	"github.com/segmentio/kafka-go"
)

func main() {
	servers, in, out, group := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	client := &kafka.Client{Addr: kafka.TCP(servers), Timeout: 60 * time.Second}
	create(ctx, client, in, out)
	again, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: in, NumPartitions: 2, ReplicationFactor: 1}}})
	events.Check(err)
	events.Print("exists", errors.Is(again.Errors[in], kafka.TopicAlreadyExists))
	all, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	events.Check(err)
	names := []string{}
	for _, topic := range all.Topics {
		names = append(names, topic.Name)
	}
	events.Own("listed", names, in, out)
	configs, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: in, ConfigNames: []string{"retention.ms"}}}})
	events.Check(err)
	entry := configs.Resources[0].ConfigEntries[0]
	events.Print("config", configs.Resources[0].ResourceName, entry.ConfigName, entry.ConfigValue)

	writer := &kafka.Writer{Addr: kafka.TCP(servers), RequiredAcks: kafka.RequireAll,
		BatchTimeout: time.Millisecond, Compression: kafka.Zstd,
		Balancer: kafka.BalancerFunc(func(kafka.Message, ...int) int { return 0 })}
	for _, topic := range []string{in, out} {
		for _, value := range []string{"a", "b", "c"} {
			events.Check(writer.WriteMessages(ctx, kafka.Message{Topic: topic, Value: []byte(value)}))
		}
	}
	events.Check(writer.Close())
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{servers}, GroupID: group,
		GroupTopics: []string{in, out}, StartOffset: kafka.FirstOffset, MaxWait: 100 * time.Millisecond})
	seen := map[string][]any{}
	for range 6 {
		message, err := reader.FetchMessage(ctx)
		events.Check(err)
		seen[message.Topic] = append(seen[message.Topic], message.Offset, string(message.Value))
		events.Check(reader.CommitMessages(ctx, message))
	}
	events.Check(reader.Close())
	for _, topic := range []string{in, out} {
		events.Print("read", topic, seen[topic])
	}

	offsets, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
		GroupID: group, Topics: map[string][]int{in: {0}, out: {0}}})
	events.Check(err)
	for _, topic := range []string{in, out} {
		events.Print("committed", topic, offsets.Topics[topic][0].CommittedOffset)
	}
	groups, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
	events.Check(err)
	names = names[:0]
	for _, each := range groups.Groups {
		names = append(names, each.GroupID)
	}
	events.Own("groups", names, group)
	described, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	events.Check(err)
	events.Print("group", described.Groups[0].GroupID, described.Groups[0].GroupState)
	gone, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{in, out}})
	events.Check(err)
	events.Print("deleted", gone.Errors[in] == nil, gone.Errors[out] == nil)
}

// create creates topics and waits until they are led.
func create(ctx context.Context, client *kafka.Client, topics ...string) {
	wanted := []kafka.TopicConfig{}
	for _, topic := range topics {
		wanted = append(wanted, kafka.TopicConfig{Topic: topic, NumPartitions: 2, ReplicationFactor: 1,
			ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: "3600000"}}})
	}
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: wanted})
	events.Check(err)
	for _, topic := range topics {
		events.Check(made.Errors[topic])
		for !led(ctx, client, topic) {
			events.Check(ctx.Err())
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func led(ctx context.Context, client *kafka.Client, topic string) bool {
	found, err := client.ListOffsets(ctx, &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: {kafka.LastOffsetOf(0), kafka.LastOffsetOf(1)}}})
	if err != nil {
		return false
	}
	for _, partition := range found.Topics[topic] {
		if partition.Error != nil {
			return false
		}
	}
	return len(found.Topics[topic]) == 2
}
