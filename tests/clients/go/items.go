package main

import (
	"context"
	"errors"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type attributes = map[string]types.AttributeValue

// Thing is an item, as a Go program declares it.
type Thing struct {
	PK     string   `dynamodbav:"pk"`
	SK     int      `dynamodbav:"sk"`
	Kind   string   `dynamodbav:"kind,omitempty"`
	Weight int      `dynamodbav:"weight"`
	Log    []string `dynamodbav:"log"`
}

func (t Thing) attributes() attributes {
	values, err := attributevalue.MarshalMap(t)
	check(err)
	return values
}

func (t Thing) key() attributes {
	values := t.attributes()
	return attributes{"pk": values["pk"], "sk": values["sk"]}
}

func thing(values attributes) (found Thing) {
	check(attributevalue.UnmarshalMap(values, &found))
	return found
}

func number(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

func text(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func items(ctx context.Context, c clients) {
	every := attributes{
		"pk":     text("types"),
		"sk":     number("1"),
		"empty":  text(""),
		"long":   number("12345678901234567890123456789012345678"),
		"tiny":   number("-0." + zeros(129) + "1"),
		"bytes":  &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"yes":    &types.AttributeValueMemberBOOL{Value: true},
		"null":   &types.AttributeValueMemberNULL{Value: true},
		"list":   &types.AttributeValueMemberL{Value: []types.AttributeValue{text("a"), number("1")}},
		"map":    &types.AttributeValueMemberM{Value: attributes{"a.b c": text("nested")}},
		"texts":  &types.AttributeValueMemberSS{Value: []string{"a", "ü"}},
		"values": &types.AttributeValueMemberNS{Value: []string{"1", "2.5"}},
		"blobs":  &types.AttributeValueMemberBS{Value: [][]byte{{0}, {1, 2}}},
	}
	put, err := c.db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: table, Item: every, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	check(err)
	expect(*put.ConsumedCapacity.CapacityUnits == 1, *put.ConsumedCapacity.CapacityUnits)
	found, err := c.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      table,
		Key:            attributes{"pk": text("types"), "sk": number("1")},
		ConsistentRead: aws.Bool(true),
	})
	check(err)
	expect(reflect.DeepEqual(found.Item, every), found.Item)

	absent, err := c.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: table, Key: Thing{PK: "none"}.key(),
	})
	check(err)
	expect(absent.Item == nil, absent.Item)
}

func zeros(count int) string {
	digits := make([]byte, count)
	for i := range digits {
		digits[i] = '0'
	}
	return string(digits)
}

func conditions(ctx context.Context, c clients) {
	one := Thing{PK: "a", SK: 1, Weight: 1, Log: []string{"made"}}
	_, err := c.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: one.attributes()})
	check(err)

	grow, err := expression.NewBuilder().
		WithUpdate(expression.
			Set(expression.Name("log"), expression.ListAppend(
				expression.Name("log"), expression.Value([]string{"grown"}))).
			Add(expression.Name("weight"), expression.Value(2))).
		WithCondition(expression.Name("weight").Equal(expression.Value(1))).
		Build()
	check(err)
	input := dynamodb.UpdateItemInput{
		TableName:                           table,
		Key:                                 one.key(),
		UpdateExpression:                    grow.Update(),
		ConditionExpression:                 grow.Condition(),
		ExpressionAttributeNames:            grow.Names(),
		ExpressionAttributeValues:           grow.Values(),
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	updated, err := c.db.UpdateItem(ctx, &input)
	check(err)
	grown := Thing{PK: "a", SK: 1, Weight: 3, Log: []string{"made", "grown"}}
	expect(reflect.DeepEqual(thing(updated.Attributes), grown), updated.Attributes)

	_, err = c.db.UpdateItem(ctx, &input)
	var failed *types.ConditionalCheckFailedException
	expect(errors.As(err, &failed), err)
	expect(reflect.DeepEqual(thing(failed.Item), grown), failed.Item)

	deleted, err := c.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: table, Key: one.key(), ReturnValues: types.ReturnValueAllOld,
	})
	check(err)
	expect(reflect.DeepEqual(thing(deleted.Attributes), grown), deleted.Attributes)
}
