from flask.config import Config


def test_environment(monkeypatch):
    monkeypatch.setenv("FERRY_RETRIES", "3")
    monkeypatch.setenv("FERRY_NAME", "west")
    config = Config(".")
    config.from_prefixed_env()
    assert config["RETRIES"] == 3
    assert config["NAME"] == "west"


def test_namespace():
    config = Config(".", {"MAIL_HOST": "localhost", "MAIL_PORT": 25, "DEBUG": True})
    assert config.get_namespace("MAIL_") == {"host": "localhost", "port": 25}
