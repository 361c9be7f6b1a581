use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType, StreamSpecification, StreamViewType, TableStatus,
    TimeToLiveSpecification, TimeToLiveStatus,
};

use crate::{Step, TABLE};

const WAIT: Duration = Duration::from_secs(20);

fn key(name: &str, kind: KeyType) -> Result<KeySchemaElement, BuildError> {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build()
}

fn attribute(name: &str, kind: ScalarAttributeType) -> Result<AttributeDefinition, BuildError> {
    AttributeDefinition::builder().attribute_name(name).attribute_type(kind).build()
}

fn creation(db: &Client) -> Result<CreateTableFluentBuilder, BuildError> {
    let by_kind = GlobalSecondaryIndex::builder()
        .index_name("by_kind")
        .key_schema(key("kind", KeyType::Hash)?)
        .key_schema(key("sk", KeyType::Range)?)
        .projection(Projection::builder().projection_type(ProjectionType::All).build())
        .build()?;
    let images = StreamSpecification::builder()
        .stream_enabled(true)
        .stream_view_type(StreamViewType::NewAndOldImages)
        .build()?;
    Ok(db
        .create_table()
        .table_name(TABLE)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S)?)
        .attribute_definitions(attribute("sk", ScalarAttributeType::N)?)
        .attribute_definitions(attribute("kind", ScalarAttributeType::S)?)
        .key_schema(key("pk", KeyType::Hash)?)
        .key_schema(key("sk", KeyType::Range)?)
        .global_secondary_indexes(by_kind)
        .billing_mode(BillingMode::PayPerRequest)
        .stream_specification(images))
}

pub async fn create(db: &Client) -> Step {
    creation(db)?.send().await?;
    db.wait_until_table_exists().table_name(TABLE).wait(WAIT).await?;
    let described = db.describe_table().table_name(TABLE).send().await?;
    let table = described.table().ok_or("no table")?;
    assert_eq!(table.table_status(), Some(&TableStatus::Active));
    assert_eq!(table.global_secondary_indexes().len(), 1);

    let again = creation(db)?.send().await.unwrap_err().into_service_error();
    assert!(again.is_resource_in_use_exception(), "{again:?}");
    let none = db.describe_table().table_name("none").send().await.unwrap_err();
    assert!(none.into_service_error().is_resource_not_found_exception());

    let names = db.list_tables().into_paginator().page_size(1).items().send();
    assert_eq!(names.collect::<Result<Vec<_>, _>>().await?, [TABLE]);
    Ok(())
}

pub async fn expiry(db: &Client) -> Step {
    let ends = TimeToLiveSpecification::builder().enabled(true).attribute_name("ends").build()?;
    db.update_time_to_live().table_name(TABLE).time_to_live_specification(ends).send().await?;
    let described = db.describe_time_to_live().table_name(TABLE).send().await?;
    let expiry = described.time_to_live_description().ok_or("no description")?;
    assert_eq!(expiry.time_to_live_status(), Some(&TimeToLiveStatus::Enabled));
    Ok(())
}

pub async fn end(db: &Client) -> Step {
    db.delete_table().table_name(TABLE).send().await?;
    db.wait_until_table_not_exists().table_name(TABLE).wait(WAIT).await?;
    Ok(())
}
