import pytest

from flask.app import Flask, RoutingError


def test_a_rule_is_found(app):
    app.add_url_rule("/users/<int:id>", "user", lambda id: id)
    rule, values = app.match("/users/7")
    assert rule.endpoint == "user"
    assert values == {"id": "7"}


def test_an_unknown_path_is_an_error(app):
    with pytest.raises(RoutingError):
        app.match("/nowhere")


def test_url_for_with_anchor(app):
    app.add_url_rule("/users/<int:id>", "user", lambda id: id)
    assert app.url_for("user", id=7, _anchor="top") == "/users/7#top"


def test_two_functions_for_one_endpoint(app):
    app.add_url_rule("/a", "page", lambda: "a")
    with pytest.raises(AssertionError):
        app.add_url_rule("/b", "page", lambda: "b")


def test_not_found(client):
    assert client.get("/nowhere") == ("error 404", 404)


@pytest.mark.parametrize("static_folder", [None, "assets"])
def test_static_folder(static_folder):
    app = Flask("ferry", static_folder=static_folder, root_path="tests")
    assert app.has_static_folder == (static_folder is not None)
