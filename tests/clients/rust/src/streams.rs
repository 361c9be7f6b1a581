use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodbstreams::Client as Streams;
use aws_sdk_dynamodbstreams::types::{OperationType, ShardIteratorType};

use crate::many::COUNT;
use crate::{Step, TABLE};

pub async fn read(db: &Client, streams: &Streams) -> Step {
    let described = db.describe_table().table_name(TABLE).send().await?;
    let arn = described.table().and_then(|table| table.latest_stream_arn()).ok_or("no stream")?;
    let stream = streams.describe_stream().stream_arn(arn).send().await?;
    let mut events = HashMap::new();
    for shard in stream.stream_description().ok_or("no description")?.shards() {
        let start = streams
            .get_shard_iterator()
            .stream_arn(arn)
            .set_shard_id(shard.shard_id.clone())
            .shard_iterator_type(ShardIteratorType::TrimHorizon)
            .send()
            .await?;
        let iterator = start.shard_iterator.ok_or("no iterator")?;
        let answer = streams.get_records().shard_iterator(iterator).send().await?;
        for record in answer.records.unwrap_or_default() {
            let event = record.event_name.ok_or("no event")?;
            let change = record.dynamodb.ok_or("no change")?;
            assert_eq!(change.old_image.is_none(), event == OperationType::Insert);
            assert_eq!(change.new_image.is_none(), event == OperationType::Remove);
            *events.entry(event).or_insert(0) += 1;
        }
    }
    let wanted = HashMap::from([
        (OperationType::Insert, COUNT + 4), // the others: every type, "a", two "together"
        (OperationType::Modify, 1),
        (OperationType::Remove, 1),
    ]);
    assert_eq!(events, wanted);
    Ok(())
}
