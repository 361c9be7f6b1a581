"""Vector stores of libraries for retrieval, over HTTP: LangChain's and Haystack's."""

from typing import Any

import pytest

from .conftest import KEYS

TEXTS = {
    "1": "cats sleep on the warm sofa",
    "2": "dogs run through the park",
    "3": "a sofa stands in the park",
}
WORDS = sorted({word for text in TEXTS.values() for word in text.split()})


def embed(text: str) -> list[float]:
    """How often each known word is in the text."""
    return [float(text.split().count(word)) for word in WORDS]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")


def test_langchain_finds_documents(endpoint: str) -> None:
    pytest.importorskip("langchain_aws", reason="make test-python-clients has it")
    from langchain_aws import DynamoDBVectorStore
    from langchain_core.embeddings import Embeddings

    class Counted(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [embed(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return embed(text)

    store: Any = DynamoDBVectorStore(
        table_name="langchain-documents",
        embedding=Counted(),
        region_name="us-east-1",
        endpoint_url=endpoint,
    )
    store.add_texts(
        [*TEXTS.values()], metadatas=[{"number": number} for number in TEXTS], ids=[*TEXTS]
    )
    [(document, _), (second, _)] = store.similarity_search_with_score("cats on the sofa", k=2)
    assert document.page_content == TEXTS["1"]
    assert document.metadata["number"] == "1"
    assert second.page_content == TEXTS["3"]
    store.delete(["1"])
    assert [found.id for found in store.similarity_search("cats on the sofa", k=1)] == ["3"]
    assert [found.page_content for found in store.get_by_ids(["2"])] == [TEXTS["2"]]


def test_haystack_finds_documents(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("haystack_integrations.document_stores.dynamodb")
    from haystack import Document
    from haystack_integrations.components.retrievers.dynamodb import DynamoDBEmbeddingRetriever
    from haystack_integrations.document_stores.dynamodb import DynamoDBDocumentStore

    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
    store = DynamoDBDocumentStore(
        table_name="haystack-documents", embedding_dimension=len(WORDS), region_name="us-east-1"
    )
    documents = [
        Document(id=number, content=text, embedding=embed(text), meta={"number": number})
        for number, text in TEXTS.items()
    ]
    assert store.write_documents(documents) == 3
    assert store.count_documents() == 3
    retriever = DynamoDBEmbeddingRetriever(document_store=store, top_k=2)
    found = retriever.run(query_embedding=embed("cats on the sofa"))["documents"]
    assert [each.content for each in found] == [TEXTS["1"], TEXTS["3"]]
    store.delete_documents(["1"])
    found = retriever.run(query_embedding=embed("cats on the sofa"))["documents"]
    assert found[0].content == TEXTS["3"]
