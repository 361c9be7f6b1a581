//! Tests the AWS SDK for Rust. Prints the name of each step that succeeds.

mod items;
mod many;
mod streams;
mod tables;

use aws_config::BehaviorVersion;

/// The result of a step. An assertion that fails panics.
type Step = Result<(), Box<dyn std::error::Error>>;

const TABLE: &str = "smoke";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Step {
    // The endpoint, the region and the credentials come from the environment.
    let config = aws_config::load_defaults(BehaviorVersion::latest()).await;
    let db = aws_sdk_dynamodb::Client::new(&config);

    tables::create(&db).await?;
    println!("tables");
    items::every_type(&db).await?;
    println!("items");
    items::conditions(&db).await?;
    println!("conditions");
    many::query(&db).await?;
    println!("query");
    many::batches(&db).await?;
    println!("batches");
    many::transactions(&db).await?;
    println!("transactions");
    tables::expiry(&db).await?;
    println!("expiry");
    streams::read(&db, &aws_sdk_dynamodbstreams::Client::new(&config)).await?;
    println!("streams");
    tables::end(&db).await?;
    println!("end");
    Ok(())
}
