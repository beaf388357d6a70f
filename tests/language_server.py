"""What an editor that asks pyright's language server shows."""

import json
import shutil
import subprocess
from pathlib import Path

from checkers import PACKAGES, PYRIGHT

SERVER = PYRIGHT and shutil.which("pyright-langserver", path=str(Path(PYRIGHT).parent))


class Editor:
    """A conversation with the server about one folder; use it in a ``with`` block."""

    def __init__(self, folder):
        self.folder, self.asked = folder, 0
        settings = {"extraPaths": [str(PACKAGES)], "pythonVersion": "3.10"}
        (folder / "pyrightconfig.json").write_text(json.dumps(settings))

    def __enter__(self):
        pipe = subprocess.PIPE
        self.server = subprocess.Popen([SERVER, "--stdio"], stdin=pipe, stdout=pipe)
        at = {"uri": self.folder.as_uri(), "name": "folder"}
        whole = {"processId": None, "rootUri": at["uri"], "workspaceFolders": [at]}
        self.ask("initialize", {**whole, "capabilities": {}})
        self.send(method="initialized", params={})
        return self

    def __exit__(self, *exc_info):
        self.server.kill()
        self.server.communicate()

    def completions(self, code):
        """Return the names that are offered at the end of some code."""
        document = {"uri": (self.folder / f"script{self.asked}.py").as_uri()}
        text = {**document, "languageId": "python", "version": 1, "text": code}
        self.send(method="textDocument/didOpen", params={"textDocument": text})
        end = {"line": code.count("\n"), "character": len(code.rpartition("\n")[2])}
        found = self.ask("textDocument/completion", {"textDocument": document, "position": end})
        return {item["label"].rstrip("=") for item in found["items"]}

    def ask(self, method, params):
        """Return the answer to a question; what the server asks meanwhile gets none."""
        self.asked += 1
        number = f"question {self.asked}"
        self.send(id=number, method=method, params=params)
        while True:
            message = self.read()
            if "method" in message and "id" in message:
                wanted = message["params"].get("items") if message.get("params") else None
                self.send(id=message["id"], result=wanted and [{} for _ in wanted])
            elif message.get("id") == number:
                return message["result"]

    def send(self, **message):
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        self.server.stdin.flush()

    def read(self):
        size = 0
        while line := self.server.stdout.readline().strip():
            name, _, value = line.partition(b": ")
            size = int(value) if name == b"Content-Length" else size
        assert size, "the server has ended"
        return json.loads(self.server.stdout.read(size))
