use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    Get, KeysAndAttributes, Put, PutRequest, ReturnValuesOnConditionCheckFailure, TransactGetItem,
    TransactWriteItem, WriteRequest,
};

use crate::items::{Item, item, key, number, text};
use crate::{Step, TABLE};

pub const COUNT: u32 = 50;

fn many(sk: u32) -> Item {
    let mut many = key("many", sk);
    many.extend(item([("kind", text(&format!("k{}", sk % 2))), ("weight", number(sk))]));
    many
}

fn numbers(items: &[Item]) -> Vec<u32> {
    items.iter().map(|item| item["sk"].as_n().unwrap().parse().unwrap()).collect()
}

/// Puts items, and repeats the request until none is unprocessed.
async fn write(db: &Client, range: std::ops::Range<u32>) -> Step {
    let put = |sk| {
        let put = PutRequest::builder().set_item(Some(many(sk))).build()?;
        Ok(WriteRequest::builder().put_request(put).build())
    };
    let puts = range.map(put).collect::<Result<Vec<_>, BuildError>>()?;
    let mut left = HashMap::from([(TABLE.to_string(), puts)]);
    while !left.is_empty() {
        let answer = db.batch_write_item().set_request_items(Some(left)).send().await?;
        left = answer.unprocessed_items.unwrap_or_default();
    }
    Ok(())
}

pub async fn query(db: &Client) -> Step {
    write(db, 0..25).await?;
    write(db, 25..COUNT).await?;
    let found = db
        .query()
        .table_name(TABLE)
        .index_name("by_kind")
        .key_condition_expression("kind = :k AND sk > :low")
        .filter_expression("weight <> :w")
        .projection_expression("sk")
        .expression_attribute_values(":k", text("k1"))
        .expression_attribute_values(":low", number(20))
        .expression_attribute_values(":w", number(25))
        .scan_index_forward(false)
        .into_paginator()
        .page_size(4)
        .items()
        .send()
        .collect::<Result<Vec<_>, _>>()
        .await?;
    assert_eq!(numbers(&found), [49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27, 23, 21]);

    let mut total = 0;
    for segment in 0..3 {
        let part = db.scan().table_name(TABLE).segment(segment).total_segments(3);
        let items = part.into_paginator().items().send();
        total += items.collect::<Result<Vec<_>, _>>().await?.len();
    }
    assert_eq!(total, COUNT as usize + 1); // and the item of every type
    Ok(())
}

pub async fn batches(db: &Client) -> Step {
    let keys = (COUNT - 10..COUNT + 20).map(|sk| key("many", sk)).collect();
    let wanted = KeysAndAttributes::builder().set_keys(Some(keys)).build()?;
    let mut left = HashMap::from([(TABLE.to_string(), wanted)]);
    let mut found = vec![];
    while !left.is_empty() {
        let answer = db.batch_get_item().set_request_items(Some(left)).send().await?;
        found.extend(answer.responses.unwrap_or_default().remove(TABLE).unwrap_or_default());
        left = answer.unprocessed_keys.unwrap_or_default();
    }
    let mut found = numbers(&found);
    found.sort();
    assert_eq!(found, Vec::from_iter(COUNT - 10..COUNT));
    Ok(())
}

fn put(sk: u32) -> Result<TransactWriteItem, BuildError> {
    let put = Put::builder()
        .table_name(TABLE)
        .set_item(Some(key("together", sk)))
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .build()?;
    Ok(TransactWriteItem::builder().put(put).build())
}

fn get(sk: u32) -> Result<TransactGetItem, BuildError> {
    let get = Get::builder().table_name(TABLE).set_key(Some(key("together", sk))).build()?;
    Ok(TransactGetItem::builder().get(get).build())
}

pub async fn transactions(db: &Client) -> Step {
    let both = db.transact_write_items().transact_items(put(1)?).transact_items(put(2)?);
    let both = both.client_request_token("token");
    both.clone().send().await?;
    both.send().await?; // it has been done already

    let refused = db.transact_write_items().transact_items(put(3)?).transact_items(put(2)?);
    match refused.send().await.unwrap_err().into_service_error() {
        TransactWriteItemsError::TransactionCanceledException(cancelled) => {
            let [fine, refused] = cancelled.cancellation_reasons() else { panic!("{cancelled:?}") };
            assert_eq!(fine.code(), Some("None"));
            assert_eq!(refused.code(), Some("ConditionalCheckFailed"));
            assert_eq!(refused.item(), Some(&key("together", 2)));
        }
        other => panic!("{other:?}"),
    }

    let reads = db.transact_get_items().transact_items(get(1)?).transact_items(get(3)?);
    let answer = reads.send().await?;
    let [first, second] = answer.responses() else { panic!("{answer:?}") };
    assert_eq!(first.item(), Some(&key("together", 1)));
    assert_eq!(second.item(), None);
    Ok(())
}
