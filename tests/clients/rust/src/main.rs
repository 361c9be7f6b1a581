//! The AWS SDK for Rust: one line for each thing that works.

mod items;
mod many;
mod streams;
mod tables;

use aws_config::BehaviorVersion;

/// What any step may end with; an assertion that does not hold is a panic.
type Step = Result<(), Box<dyn std::error::Error>>;

const TABLE: &str = "smoke";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Step {
    // Endpoint, region and credentials come from the environment.
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
