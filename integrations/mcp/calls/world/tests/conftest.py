import pytest

from flask import Flask


@pytest.fixture
def app():
    app = Flask("ferry", root_path="tests")
    app.config["TESTING"] = True
    return app


@pytest.fixture
def client(app):
    return app.test_client()
