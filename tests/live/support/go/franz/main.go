// Consumes the records of one topic and produces them to another in transactions, by franz-go.
//
// Arguments: bootstrap servers, input, output, group, transactional id. Creates both topics, and
// describes and deletes them in the end.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"kafka-gateway-clients/events"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func client(servers string, more ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(servers)}, more...)...)
	events.Check(err)
	return made
}

// read polls until there are so many records.
func read(ctx context.Context, poll func(context.Context) kgo.Fetches, count int) []*kgo.Record {
	var found []*kgo.Record
	for len(found) < count {
		fetches := poll(ctx)
		events.Check(fetches.Err())
		found = append(found, fetches.Records()...)
	}
	return found
}

func main() {
	servers, in, out, group, id := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Second)
	defer cancel()
	plain := client(servers, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer plain.Close()
	admin := kadm.NewClient(plain)

	retention := "3600000"
	created, err := admin.CreateTopics(ctx, 2, 1, map[string]*string{"retention.ms": &retention}, in, out)
	events.Check(err)
	events.Check(created.Error())
	again, err := admin.CreateTopics(ctx, 2, 1, nil, in)
	events.Check(err)
	events.Print("exists", errors.Is(again[in].Err, kerr.TopicAlreadyExists))
	await(ctx, admin, in, out)
	listed, err := admin.ListTopics(ctx)
	events.Check(err)
	events.Own("listed", listed.Names(), in, out)
	configs, err := admin.DescribeTopicConfigs(ctx, in)
	events.Check(err)
	for _, config := range configs[0].Configs {
		if config.Key == "retention.ms" {
			events.Print("config", configs[0].Name, config.MaybeValue(), config.Source.String())
		}
	}

	for _, value := range []string{"a", "b", "c"} {
		record := &kgo.Record{Topic: in, Value: []byte(value), Partition: 0}
		sent, err := plain.ProduceSync(ctx, record).First()
		events.Check(err)
		events.Print("sent", sent.Topic, sent.Partition, sent.Offset)
	}
	copyAll(ctx, servers, in, out, group, id)

	reader := client(servers, kgo.ConsumerGroup(group+"-reader"), kgo.ConsumeTopics(out),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	for _, record := range read(ctx, reader.PollFetches, 2) {
		events.Print("read", record.Topic, record.Offset, string(record.Value))
	}
	events.Check(reader.CommitUncommittedOffsets(ctx))
	reader.Close()

	offsets, err := admin.FetchOffsets(ctx, group)
	events.Check(err)
	offsets.Each(func(each kadm.OffsetResponse) {
		if each.At >= 0 {
			events.Print("committed", each.Topic, each.Partition, each.At)
		}
	})
	groups, err := admin.ListGroups(ctx)
	events.Check(err)
	events.Own("groups", groups.Groups(), group, group+"-reader")
	described, err := admin.DescribeGroups(ctx, group)
	events.Check(err)
	events.Print("group", described[group].Group, described[group].State)
	ends, err := admin.ListEndOffsets(ctx, out)
	events.Check(err)
	end, _ := ends.Lookup(out, 0)
	events.Print("end", end.Topic, end.Offset)
	removed, err := admin.DeleteGroups(ctx, group)
	events.Check(err)
	events.Print("group-deleted", removed[group].Err == nil)
	gone, err := admin.DeleteTopics(ctx, in, out)
	events.Check(err)
	events.Check(gone.Error())
}

// await waits until the topics are led, because a broker goes by a creation after its response.
func await(ctx context.Context, admin *kadm.Client, topics ...string) {
	for {
		found, err := admin.ListEndOffsets(ctx, topics...)
		if err == nil && found.Error() == nil {
			return
		}
		events.Check(ctx.Err())
		time.Sleep(20 * time.Millisecond)
	}
}

// copyAll copies each record in a transaction of its own, and aborts that of "b".
func copyAll(ctx context.Context, servers, in, out, group, id string) {
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(servers), kgo.TransactionalID(id),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(in), kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	events.Check(err)
	defer session.Close()
	one := func(ctx context.Context) kgo.Fetches { return session.PollRecords(ctx, 1) }
	aborted := false
	for copied := 0; copied < 3; {
		for _, record := range read(ctx, one, 1) {
			value := string(record.Value)
			events.Check(session.Begin())
			copy := &kgo.Record{Topic: out, Value: record.Value, Partition: 0}
			events.Check(session.ProduceSync(ctx, copy).FirstErr())
			commit := kgo.TryCommit
			if value == "b" && !aborted {
				commit, aborted = kgo.TryAbort, true
			} else {
				copied++
			}
			committed, err := session.End(ctx, commit)
			events.Check(err)
			events.Print("transaction", record.Topic, value, committed)
		}
	}
}
