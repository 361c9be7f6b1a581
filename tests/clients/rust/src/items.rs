use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue::{self, B, Bool, Bs, L, M, N, Ns, Null, S, Ss},
    ReturnConsumedCapacity, ReturnValue, ReturnValuesOnConditionCheckFailure,
};

use crate::{Step, TABLE};

pub type Item = HashMap<String, AttributeValue>;

pub fn item<const LENGTH: usize>(attributes: [(&str, AttributeValue); LENGTH]) -> Item {
    attributes.map(|(name, value)| (name.to_string(), value)).into()
}

pub fn text(value: &str) -> AttributeValue {
    S(value.to_string())
}

pub fn number(value: impl ToString) -> AttributeValue {
    N(value.to_string())
}

pub fn key(pk: &str, sk: u32) -> Item {
    item([("pk", text(pk)), ("sk", number(sk))])
}

pub async fn every_type(db: &Client) -> Step {
    let every = item([
        ("pk", text("types")),
        ("sk", number(1)),
        ("empty", text("")),
        ("long", number("12345678901234567890123456789012345678")),
        ("tiny", number(format!("-0.{}1", "0".repeat(129)))),
        ("bytes", B(Blob::new([0, 255]))),
        ("nothing", B(Blob::new([]))),
        ("yes", Bool(true)),
        ("null", Null(true)),
        ("list", L(vec![text("a"), number(1), L(vec![])])),
        ("map", M(item([("a.b c", text("nested"))]))),
        ("texts", Ss(vec!["a".into(), "ü".into()])),
        ("numbers", Ns(vec!["1".into(), "2.5".into()])),
        ("blobs", Bs(vec![Blob::new([0]), Blob::new([1, 2])])),
    ]);
    let put = db
        .put_item()
        .table_name(TABLE)
        .set_item(Some(every.clone()))
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .send()
        .await?;
    assert_eq!(put.consumed_capacity().and_then(|used| used.capacity_units()), Some(1.0));
    let get = db.get_item().table_name(TABLE).consistent_read(true);
    let found = get.set_key(Some(key("types", 1))).send().await?;
    assert_eq!(found.item(), Some(&every));
    let absent = db.get_item().table_name(TABLE).set_key(Some(key("types", 2))).send().await?;
    assert_eq!(absent.item(), None);
    Ok(())
}

pub async fn conditions(db: &Client) -> Step {
    let mut one = key("a", 1);
    one.extend(item([("weight", number(1)), ("log", L(vec![text("made")]))]));
    db.put_item().table_name(TABLE).set_item(Some(one.clone())).send().await?;

    let grow = db
        .update_item()
        .table_name(TABLE)
        .set_key(Some(key("a", 1)))
        .update_expression("SET #l = list_append(#l, :grown) ADD weight :two")
        .condition_expression("weight = :one")
        .expression_attribute_names("#l", "log")
        .expression_attribute_values(":grown", L(vec![text("grown")]))
        .expression_attribute_values(":one", number(1))
        .expression_attribute_values(":two", number(2))
        .return_values(ReturnValue::AllNew)
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    one.extend(item([("weight", number(3)), ("log", L(vec![text("made"), text("grown")]))]));
    assert_eq!(grow.clone().send().await?.attributes(), Some(&one));

    let failed = grow.send().await.unwrap_err().into_service_error();
    let UpdateItemError::ConditionalCheckFailedException(refused) = failed else {
        panic!("{failed:?}")
    };
    assert_eq!(refused.message(), Some("The conditional request failed"));
    assert_eq!(refused.item(), Some(&one));

    let delete = db.delete_item().table_name(TABLE).set_key(Some(key("a", 1)));
    let deleted = delete.return_values(ReturnValue::AllOld).send().await?;
    assert_eq!(deleted.attributes(), Some(&one));
    Ok(())
}
