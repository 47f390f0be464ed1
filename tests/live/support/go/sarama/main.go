// Consumes the records of one topic and produces them to another in transactions, by Sarama.
//
// Arguments: bootstrap servers, input, output, group, transactional id. Creates both topics, and
// describes and deletes them in the end.
package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"kafka-gateway-clients/events"

	"github.com/IBM/sarama"
)

func config() *sarama.Config {
	made := sarama.NewConfig()
	made.Version = sarama.MaxVersion
	made.Consumer.Offsets.Initial = sarama.OffsetOldest
	made.Consumer.Offsets.AutoCommit.Enable = false
	made.Consumer.IsolationLevel = sarama.ReadCommitted
	made.Producer.Return.Successes = true
	made.Producer.RequiredAcks = sarama.WaitForAll
	made.Producer.Partitioner = sarama.NewManualPartitioner
	return made
}

// reader hands over the records of a group's claims until there are enough.
type reader struct {
	group string
	count int
	take  func(sarama.ConsumerGroupSession, *sarama.ConsumerMessage)
	done  context.CancelFunc
}

func (r *reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (r *reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *reader) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			r.take(session, message)
			if r.count--; r.count == 0 {
				r.done()
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func consume(servers []string, group, topic string, count int,
	take func(sarama.ConsumerGroupSession, *sarama.ConsumerMessage)) {
	member, err := sarama.NewConsumerGroup(servers, group, config())
	events.Check(err)
	ctx, done := context.WithTimeout(context.Background(), 60*time.Second)
	handler := &reader{group, count, take, done}
	for ctx.Err() == nil {
		if err := member.Consume(ctx, []string{topic}, handler); err != nil && ctx.Err() == nil {
			events.Check(err)
		}
	}
	events.Check(member.Close())
	if handler.count > 0 {
		events.Check(errors.New("records are missing in " + topic))
	}
}

func main() {
	servers := strings.Split(os.Args[1], ",")
	in, out, group, id := os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	admin, err := sarama.NewClusterAdmin(servers, config())
	events.Check(err)
	retention := "3600000"
	detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1,
		ConfigEntries: map[string]*string{"retention.ms": &retention}}
	for _, topic := range []string{in, out} {
		events.Check(admin.CreateTopic(topic, detail, false))
	}
	events.Print("exists", errors.Is(admin.CreateTopic(in, detail, false), sarama.ErrTopicAlreadyExists))
	await(admin, in, out)
	topics, err := admin.ListTopics()
	events.Check(err)
	names := []string{}
	for name := range topics {
		names = append(names, name)
	}
	events.Own("listed", names, in, out)
	entries, err := admin.DescribeConfig(sarama.ConfigResource{
		Type: sarama.TopicResource, Name: in, ConfigNames: []string{"retention.ms"}})
	events.Check(err)
	events.Print("config", entries[0].Name, entries[0].Value, entries[0].Source.String())

	producer, err := sarama.NewSyncProducer(servers, config())
	events.Check(err)
	for _, value := range []string{"a", "b", "c"} {
		partition, offset, err := producer.SendMessage(
			&sarama.ProducerMessage{Topic: in, Value: sarama.StringEncoder(value)})
		events.Check(err)
		events.Print("sent", in, partition, offset)
	}
	events.Check(producer.Close())
	copyAll(servers, in, out, group, id)
	consume(servers, group+"-reader", out, 2,
		func(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) {
			events.Print("read", message.Topic, message.Offset, string(message.Value))
			session.MarkMessage(message, "")
			session.Commit()
		})

	offsets, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{in: {0}})
	events.Check(err)
	events.Print("committed", in, 0, offsets.GetBlock(in, 0).Offset)
	groups, err := admin.ListConsumerGroups()
	events.Check(err)
	names = names[:0]
	for name := range groups {
		names = append(names, name)
	}
	events.Own("groups", names, group, group+"-reader")
	described, err := admin.DescribeConsumerGroups([]string{group})
	events.Check(err)
	events.Print("group", described[0].GroupId, described[0].State)
	events.Check(admin.DeleteConsumerGroup(group))
	for _, topic := range []string{in, out} {
		events.Check(admin.DeleteTopic(topic))
	}
	events.Check(admin.Close())
}

// await waits until the topics are led, because a broker goes by a creation after its response.
func await(admin sarama.ClusterAdmin, topics ...string) {
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		found, err := admin.DescribeTopics(topics)
		led := err == nil && len(found) == len(topics)
		for _, topic := range found {
			led = led && topic.Err == sarama.ErrNoError && len(topic.Partitions) == 2
			for _, partition := range topic.Partitions {
				led = led && partition.Err == sarama.ErrNoError
			}
		}
		if led {
			return
		}
	}
	events.Check(errors.New("topics have no leaders"))
}

// copyAll copies each record in a transaction of its own, and aborts that of "b".
func copyAll(servers []string, in, out, group, id string) {
	settings := config()
	settings.Producer.Idempotent = true
	settings.Producer.Transaction.ID = id
	settings.Net.MaxOpenRequests = 1
	producer, err := sarama.NewSyncProducer(servers, settings)
	events.Check(err)
	consume(servers, group, in, 3,
		func(_ sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) {
			events.Check(producer.BeginTxn())
			_, _, err := producer.SendMessage(
				&sarama.ProducerMessage{Topic: out, Value: sarama.ByteEncoder(message.Value)})
			events.Check(err)
			events.Check(producer.AddMessageToTxn(message, group, nil))
			value := string(message.Value)
			if value == "b" {
				events.Check(producer.AbortTxn())
			} else {
				events.Check(producer.CommitTxn())
			}
			events.Print("transaction", message.Topic, value)
		})
	events.Check(producer.Close())
}
