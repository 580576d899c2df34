"""The official Python client: takes jobs as JSON on standard input, lists the tools and makes the calls of each over one
connection, and prints what came back as JSON."""

import asyncio
import json
import sys

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client

# Seconds for a call; a server that hangs is a failure.
PATIENCE = 20


def plain(model):
    """As it was on the wire: what was not sent is not there."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def answer(client, call, results):
    args = dict(call["args"])
    if "known" in call:
        args["known"] = results[call["known"]]["_meta"]["readproof/contract"]["meta"]["handle"]
    try:
        return plain(await client.call_tool(call["tool"], args, PATIENCE))
    except Exception as error:  # what the client refuses is an answer that the checks must see
        return {"thrown": repr(error)}


async def done(job, mode):
    server = stdio_client(StdioServerParameters(**job["server"]))
    async with Client(server, mode=mode) as client:
        tools = plain(await client.list_tools())["tools"]
        results = []
        for call in job["calls"]:
            results.append(await answer(client, call, results))
        info = client.server_info
        return {"version": client.protocol_version, "server": info and plain(info), "tools": tools, "results": results}


async def main():
    asked = json.load(sys.stdin)
    mode = "auto" if asked["era"] == "modern" else "legacy"
    print(json.dumps([await done(job, mode) for job in asked["jobs"]]))


asyncio.run(main())
