// Tests the AWS SDK for Go, version 2. Prints the name of each step that succeeds.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
)

// The endpoint, the region and the credentials come from the environment.
type clients struct {
	db      *dynamodb.Client
	streams *dynamodbstreams.Client
}

func main() {
	ctx := context.Background()
	cfg, err := config.LoadDefaultConfig(ctx)
	check(err)
	c := clients{dynamodb.NewFromConfig(cfg), dynamodbstreams.NewFromConfig(cfg)}
	for _, step := range []struct {
		name string
		run  func(context.Context, clients)
	}{
		{"tables", tables},
		{"items", items},
		{"conditions", conditions},
		{"query", query},
		{"batches", batches},
		{"transactions", transactions},
		{"expiry", expiry},
		{"streams", streams},
		{"end", end},
	} {
		step.run(ctx, c)
		fmt.Println(step.name)
	}
}

func check(err error) {
	if err != nil {
		log.Panic(err)
	}
}

func expect(fine bool, what ...any) {
	if !fine {
		log.Panic(what...)
	}
}
