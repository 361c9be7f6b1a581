package main

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var table = aws.String("smoke")

const wait = 20 * time.Second

func key(name string, kind types.KeyType) types.KeySchemaElement {
	return types.KeySchemaElement{AttributeName: &name, KeyType: kind}
}

func attribute(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
	return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
}

func tables(ctx context.Context, c clients) {
	input := dynamodb.CreateTableInput{
		TableName: table,
		AttributeDefinitions: []types.AttributeDefinition{
			attribute("pk", types.ScalarAttributeTypeS),
			attribute("sk", types.ScalarAttributeTypeN),
			attribute("kind", types.ScalarAttributeTypeS),
		},
		KeySchema: []types.KeySchemaElement{
			key("pk", types.KeyTypeHash), key("sk", types.KeyTypeRange),
		},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{{
			IndexName: aws.String("by_kind"),
			KeySchema: []types.KeySchemaElement{
				key("kind", types.KeyTypeHash), key("sk", types.KeyTypeRange),
			},
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
		}},
		BillingMode: types.BillingModePayPerRequest,
		StreamSpecification: &types.StreamSpecification{
			StreamEnabled:  aws.Bool(true),
			StreamViewType: types.StreamViewTypeNewAndOldImages,
		},
	}
	_, err := c.db.CreateTable(ctx, &input)
	check(err)
	described, err := dynamodb.NewTableExistsWaiter(c.db).WaitForOutput(
		ctx, &dynamodb.DescribeTableInput{TableName: table}, wait)
	check(err)
	expect(described.Table.TableStatus == types.TableStatusActive, described.Table.TableStatus)
	expect(time.Since(*described.Table.CreationDateTime) < time.Minute, "CreationDateTime")

	_, err = c.db.CreateTable(ctx, &input)
	expect(errors.As(err, new(*types.ResourceInUseException)), err)
	_, err = c.db.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: aws.String("none")})
	expect(errors.As(err, new(*types.ResourceNotFoundException)), err)

	var names []string
	pages := dynamodb.NewListTablesPaginator(c.db, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		check(err)
		names = append(names, page.TableNames...)
	}
	expect(reflect.DeepEqual(names, []string{"smoke"}), names)
}

func expiry(ctx context.Context, c clients) {
	_, err := c.db.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{
			AttributeName: aws.String("ends"), Enabled: aws.Bool(true),
		},
	})
	check(err)
	answer, err := c.db.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: table})
	check(err)
	expect(*answer.TimeToLiveDescription.AttributeName == "ends", answer.TimeToLiveDescription)
}

func end(ctx context.Context, c clients) {
	_, err := c.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: table})
	check(err)
	check(dynamodb.NewTableNotExistsWaiter(c.db).Wait(
		ctx, &dynamodb.DescribeTableInput{TableName: table}, wait))
}
