"""Users and their posts, for tests of writes that concern several items."""

from hashrange import design as st


class User(st.Item):
    key = st.key("user#{user_id}", "info")
    one_email = st.unique("{email}")

    user_id: st.Slug
    email: str | None = None
    name: str = ""
    logins: int = 0


class Post(st.Item):
    key = st.key("post#{post_id}", "info")
    of_user = st.index("GSI1", "user#{user_id}", "post#{post_id}")

    post_id: st.Slug
    user_id: st.Slug
    author: str = st.copy(User, "name", sync="transaction")
    likes: int = 0
