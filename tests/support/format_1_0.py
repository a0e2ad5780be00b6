"""Turns a run into one of format 1.0, as tensortap wrote it before checksums by block."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from tensortap.dump.format.frames import EOS, encode
from tensortap.dump.format.layout import HEADER, stats_path
from tensortap.dump.format.schema import SCHEMA, SCHEMA_MESSAGE_1_0, SINCE_1_1
from tensortap.dump.read.runs import RunReader


def downgrade(run_dir: Path) -> None:
    """Rewrites the files of a closed run in place."""
    reader = RunReader(run_dir)
    for worker in reader.workers():
        folder = run_dir / worker.worker
        files: dict[int, bytes] = {}
        for commit in reader.tail(worker.worker).poll():
            columns = [name for name in SCHEMA.names if name != SINCE_1_1]
            schema = pa.ipc.read_schema(pa.py_buffer(SCHEMA_MESSAGE_1_0))
            batch = pa.RecordBatch.from_arrays([commit.batch.column(n) for n in columns], schema=schema)
            frame = encode(batch, SCHEMA_MESSAGE_1_0, commit.status, "zstd")
            files[commit.file] = files.get(commit.file, SCHEMA_MESSAGE_1_0) + frame
        for number, data in files.items():
            stats_path(folder, number).write_bytes(data + EOS)
        for values in folder.glob("values-*.safetensors"):
            data = values.read_bytes()
            entries = json.loads(data[8:HEADER])
            del entries["__metadata__"]
            header = json.dumps(entries, separators=(",", ":")).encode().ljust(HEADER - 8)
            values.write_bytes(data[:8] + header + data[HEADER:])
    for path in run_dir.rglob("*.json"):
        record = json.loads(path.read_bytes())
        for key in ("checksum", "crc32c", "minor", "events"):
            record.pop(key, None)
        path.write_text(json.dumps(record, indent=1))
