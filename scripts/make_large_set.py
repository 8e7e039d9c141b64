#!/usr/bin/env python3
"""Makes a LeRobot dataset of many episodes out of a small one, for measuring how fast sets open.

Usage: make_large_set.py SMALL OUT [--episodes 10000]

SMALL is what `wamtrain sample` writes, in v2.1 or with `--layout v3.0`. Its episodes are repeated
under numbers of their own, as LeRobot would lay them out: a table an episode, or a row group an episode
in tables of up to 2,500 episodes. Video files are hard links, so OUT takes little room. Needs pyarrow.
"""

import argparse
import json
import os
import pathlib
import shutil

import pyarrow as pa
import pyarrow.parquet as pq

EPISODES_IN_TABLE = 2500  # v3.0
EPISODES_IN_LIST_GROUP = 10  # as LeRobot flushes its list


def link(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    os.link(source, target)


def renumbered(table, episode, first_index):
    """The rows of one episode under another number."""
    for name, values in (("episode_index", [episode] * len(table)),
                         ("index", range(first_index, first_index + len(table)))):
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(name), pa.array(values, pa.int64()))
    return table


def write_info(small, out, **changes):
    info = json.loads((small / "meta/info.json").read_text())
    info.update(changes)
    (out / "meta/info.json").write_text(json.dumps(info, indent=4) + "\n")


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def write_v21(small, out, count):
    info = json.loads((small / "meta/info.json").read_text())
    chunk_of = lambda e: e // info["chunks_size"]
    cameras = [name for name, f in info["features"].items() if f["dtype"] == "video"]
    episodes = lines_of(small / "meta/episodes.jsonl")
    tables = [pq.read_table(small / info["data_path"].format(episode_chunk=0, episode_index=e))
              for e in range(len(episodes))]
    first_index = 0
    with open(out / "meta/episodes.jsonl", "w") as listing:
        for e in range(count):
            of = e % len(episodes)
            names = {"episode_chunk": chunk_of(e), "episode_index": e}
            path = out / info["data_path"].format(**names)
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(renumbered(tables[of], e, first_index), path)
            for camera in cameras:
                link(small / info["video_path"].format(episode_chunk=chunk_of(of), episode_index=of,
                                                       video_key=camera),
                     out / info["video_path"].format(video_key=camera, **names))
            listing.write(json.dumps({**episodes[of], "episode_index": e}) + "\n")
            first_index += len(tables[of])
    shutil.copy(small / "meta/tasks.jsonl", out / "meta/tasks.jsonl")
    write_info(small, out, total_episodes=count, total_frames=first_index,
               total_videos=count * len(cameras), total_chunks=chunk_of(count - 1) + 1,
               splits={"train": f"0:{count}"})


def read_all(folder):
    return pa.concat_tables(pq.read_table(path) for path in sorted(folder.rglob("*.parquet")))


def write_v30_list(out, rows, schema):
    path = out / "meta/episodes/chunk-000/file-000.parquet"
    path.parent.mkdir(parents=True)
    with pq.ParquetWriter(path, schema) as writer:
        for at in range(0, len(rows), EPISODES_IN_LIST_GROUP):
            writer.write_table(pa.Table.from_pylist(rows[at:at + EPISODES_IN_LIST_GROUP], schema))


def write_v30(small, out, count):
    info = json.loads((small / "meta/info.json").read_text())
    cameras = [name for name, f in info["features"].items() if f["dtype"] == "video"]
    listed = read_all(small / "meta/episodes")
    episodes = listed.to_pylist()
    data = read_all(small / "data")
    rows = []
    writer = None
    first_index = 0
    for e in range(count):
        of = episodes[e % len(episodes)]
        again = e // len(episodes)  # every repetition has video files of its own
        table = e // EPISODES_IN_TABLE
        place = {"chunk_index": table // info["chunks_size"],
                 "file_index": table % info["chunks_size"]}
        if e % EPISODES_IN_TABLE == 0:
            if writer:
                writer.close()
            path = out / info["data_path"].format(**place)
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(path, data.schema)
        part = data.slice(of["dataset_from_index"], of["length"])
        writer.write_table(renumbered(part, e, first_index))
        row = {**of, "episode_index": e, "dataset_from_index": first_index,
               "dataset_to_index": first_index + of["length"],
               "data/chunk_index": place["chunk_index"], "data/file_index": place["file_index"]}
        for camera in cameras:
            old = {"chunk_index": of[f"videos/{camera}/chunk_index"],
                   "file_index": of[f"videos/{camera}/file_index"]}
            new = {"chunk_index": again, "file_index": old["file_index"]}
            target = out / info["video_path"].format(video_key=camera, **new)
            if not target.exists():
                link(small / info["video_path"].format(video_key=camera, **old), target)
            row[f"videos/{camera}/chunk_index"] = again
        rows.append(row)
        first_index += of["length"]
    writer.close()
    write_v30_list(out, rows, listed.schema)
    shutil.copy(small / "meta/tasks.parquet", out / "meta/tasks.parquet")
    write_info(small, out, total_episodes=count, total_frames=first_index,
               splits={"train": f"0:{count}"})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("small", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--episodes", type=int, default=10000)
    arguments = parser.parse_args()
    version = json.loads((arguments.small / "meta/info.json").read_text())["codebase_version"]
    (arguments.out / "meta").mkdir(parents=True)
    write = write_v30 if version == "v3.0" else write_v21
    write(arguments.small, arguments.out, arguments.episodes)
    modality = arguments.small / "meta/modality.json"
    if modality.exists():
        shutil.copy(modality, arguments.out / "meta/modality.json")
    print(f"{arguments.episodes} episodes in {arguments.out}")


if __name__ == "__main__":
    main()
