package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

const count = 50

func many(sk int) Thing {
	return Thing{PK: "many", SK: sk, Kind: fmt.Sprint("k", sk%2), Weight: sk}
}

func batches(ctx context.Context, c clients) {
	var keys []attributes
	for sk := range 30 {
		keys = append(keys, many(sk+count-10).key())
	}
	found := 0
	wanted := map[string]types.KeysAndAttributes{*table: {Keys: keys}}
	for len(wanted) > 0 {
		answer, err := c.db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: wanted})
		check(err)
		found += len(answer.Responses[*table])
		wanted = answer.UnprocessedKeys
	}
	expect(found == 10, found)
}

// write puts the items of a batch, and repeats the request until none is unprocessed.
func write(ctx context.Context, c clients, from, to int) {
	var puts []types.WriteRequest
	for sk := from; sk < to; sk++ {
		put := &types.PutRequest{Item: many(sk).attributes()}
		puts = append(puts, types.WriteRequest{PutRequest: put})
	}
	left := map[string][]types.WriteRequest{*table: puts}
	for len(left) > 0 {
		answer, err := c.db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
		check(err)
		left = answer.UnprocessedItems
	}
}

func query(ctx context.Context, c clients) {
	write(ctx, c, 0, 25)
	write(ctx, c, 25, count)
	odd, err := expression.NewBuilder().
		WithKeyCondition(expression.Key("kind").Equal(expression.Value("k1")).
			And(expression.Key("sk").GreaterThan(expression.Value(20)))).
		WithFilter(expression.Name("weight").NotEqual(expression.Value(25))).
		WithProjection(expression.NamesList(expression.Name("sk"))).
		Build()
	check(err)
	pages := dynamodb.NewQueryPaginator(c.db, &dynamodb.QueryInput{
		TableName:                 table,
		IndexName:                 aws.String("by_kind"),
		KeyConditionExpression:    odd.KeyCondition(),
		FilterExpression:          odd.Filter(),
		ProjectionExpression:      odd.Projection(),
		ExpressionAttributeNames:  odd.Names(),
		ExpressionAttributeValues: odd.Values(),
		Limit:                     aws.Int32(4),
		ScanIndexForward:          aws.Bool(false),
	})
	var found []int
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		check(err)
		for _, item := range page.Items {
			found = append(found, thing(item).SK)
		}
	}
	wanted := []int{49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27, 23, 21}
	expect(reflect.DeepEqual(found, wanted), found)

	total := 0
	for segment := range int32(3) {
		pages := dynamodb.NewScanPaginator(c.db, &dynamodb.ScanInput{
			TableName: table, Segment: &segment, TotalSegments: aws.Int32(3),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			check(err)
			total += int(page.Count)
		}
	}
	expect(total == count+1, total) // and the item of every type
}

func transactions(ctx context.Context, c clients) {
	put := func(sk int) types.TransactWriteItem {
		all := types.ReturnValuesOnConditionCheckFailureAllOld
		return types.TransactWriteItem{Put: &types.Put{
			TableName:                           table,
			Item:                                Thing{PK: "together", SK: sk}.attributes(),
			ConditionExpression:                 aws.String("attribute_not_exists(pk)"),
			ReturnValuesOnConditionCheckFailure: all,
		}}
	}
	both := dynamodb.TransactWriteItemsInput{
		TransactItems:      []types.TransactWriteItem{put(1), put(2)},
		ClientRequestToken: aws.String("token"),
	}
	for range 2 { // the second time it has been done already
		_, err := c.db.TransactWriteItems(ctx, &both)
		check(err)
	}
	_, err := c.db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{put(3), put(2)},
	})
	var cancelled *types.TransactionCanceledException
	expect(errors.As(err, &cancelled), err)
	fine, refused := cancelled.CancellationReasons[0], cancelled.CancellationReasons[1]
	expect(*fine.Code == "None", *fine.Code)
	expect(*refused.Code == "ConditionalCheckFailed", *refused.Code)
	expect(thing(refused.Item).SK == 2, refused.Item)

	get := func(sk int) types.TransactGetItem {
		return types.TransactGetItem{
			Get: &types.Get{TableName: table, Key: Thing{PK: "together", SK: sk}.key()},
		}
	}
	answer, err := c.db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{
		TransactItems: []types.TransactGetItem{get(1), get(3)},
	})
	check(err)
	expect(thing(answer.Responses[0].Item).SK == 1, answer.Responses)
	expect(answer.Responses[1].Item == nil, answer.Responses)
}

func streams(ctx context.Context, c clients) {
	table, err := c.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: table})
	check(err)
	arn := table.Table.LatestStreamArn
	stream, err := c.streams.DescribeStream(
		ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	check(err)
	events := map[streamtypes.OperationType]int{}
	for _, shard := range stream.StreamDescription.Shards {
		start, err := c.streams.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn:         arn,
			ShardId:           shard.ShardId,
			ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		check(err)
		answer, err := c.streams.GetRecords(
			ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: start.ShardIterator})
		check(err)
		for _, record := range answer.Records {
			events[record.EventName]++
			_, old := record.Dynamodb.OldImage["pk"].(*streamtypes.AttributeValueMemberS)
			expect(old == (record.EventName != streamtypes.OperationTypeInsert), record)
		}
	}
	wanted := map[streamtypes.OperationType]int{
		streamtypes.OperationTypeInsert: count + 4, // the others: every type, "a", two "together"
		streamtypes.OperationTypeModify: 1,
		streamtypes.OperationTypeRemove: 1,
	}
	expect(reflect.DeepEqual(events, wanted), events)
}
