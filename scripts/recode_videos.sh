#!/usr/bin/env bash
# Writes a LeRobot dataset anew with its videos encoded for training: h264, a keyframe every two
# frames, no frames out of order, tuned for fast decoding. Frames and their times stay; size and speed
# of reading change.
#
#   scripts/recode_videos.sh DATASET OUT [FFMPEG_OUTPUT_OPTION ...]
#
#   scripts/recode_videos.sh droid droid_fast
#   scripts/recode_videos.sh droid droid_small -c:v libx264 -crf 23 -g 250 -pix_fmt yuv420p
#   scripts/recode_videos.sh wide narrow -vf scale=320:180 -c:v libx264 -crf 18 -g 2 -bf 0 -pix_fmt yuv420p
#
# Needs ffmpeg and python3. WAM_JOBS videos at once (default: one a core). A video that is there
# already is kept, so that a run that was stopped goes on. Tables are linked, not copied, where the
# file system allows it.
set -euo pipefail

usage='usage: scripts/recode_videos.sh DATASET OUT [FFMPEG_OUTPUT_OPTION ...]'
dataset=$(realpath "${1:?$usage}")
out=${2:?$usage}
shift 2
options=("$@")
((${#options[@]})) || options=(-c:v libx264 -preset medium -crf 18 -g 2 -bf 0 -tune fastdecode -pix_fmt yuv420p)
command -v ffmpeg >/dev/null || { echo "recode_videos: no ffmpeg here. Fix: install it." >&2; exit 2; }
[[ -f $dataset/meta/info.json ]] || { echo "recode_videos: $dataset has no meta/info.json, so it is no LeRobot dataset." >&2; exit 2; }
[[ ! -e $out || $(realpath "$out") != "$dataset" ]] || { echo "recode_videos: OUT is the dataset itself. Fix: name another folder." >&2; exit 2; }
mkdir -p "$out"
out=$(realpath "$out")

recode() { # one video, published whole or not at all
  local from=$dataset/$1 to=$out/$1
  shift
  [[ -e $to ]] && return
  mkdir -p "$(dirname "$to")"
  ffmpeg -nostdin -v error -y -i "$from" -map 0:v:0 -an -fps_mode passthrough -enc_time_base -1 \
    -threads 1 "$@" -f mp4 "$to.part"
  mv "$to.part" "$to"
}
export -f recode
export dataset out

cd "$dataset"
find . -type f ! -name '*.mp4' -print0 | while IFS= read -r -d '' file; do
  mkdir -p "$out/$(dirname "$file")"
  # meta is copied: it is written below, and a link would change the original with it.
  { [[ $file != ./meta/* ]] && ln -f "$file" "$out/$file" 2>/dev/null; } || cp -f "$file" "$out/$file"
done
total=$(find . -type f -name '*.mp4' | wc -l)
find . -type f -name '*.mp4' -print0 |
  xargs -0 -P "${WAM_JOBS:-$(nproc)}" -I{} bash -c 'set -euo pipefail; recode "$@"; echo' _ {} "${options[@]}" |
  awk -v total="$total" '{ if (NR % 20 == 0 || NR == total) printf "%d of %d videos\n", NR, total; fflush() }'

# What the metadata says of the pictures, as the first video of each camera now has them.
python3 - "$out" <<'PY'
import json, pathlib, subprocess, sys

root = pathlib.Path(sys.argv[1])
info_file = root / "meta" / "info.json"
info = json.loads(info_file.read_text())
for camera, feature in info["features"].items():
    if feature["dtype"] != "video":
        continue
    video = next(path for path in sorted(root.rglob("*.mp4")) if camera in path.parts)
    found = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "json", "-show_entries",
                            "stream=codec_name,pix_fmt,width,height", str(video)], check=True, capture_output=True)
    stream = json.loads(found.stdout)["streams"][0]
    names = feature.get("names") or []
    for size in ("height", "width"):
        if size in names:
            feature["shape"][names.index(size)] = stream[size]
    about = feature.get("info", {})
    for key, value in (("video.codec", stream["codec_name"]), ("video.pix_fmt", stream["pix_fmt"]),
                       ("video.height", stream["height"]), ("video.width", stream["width"])):
        if key in about:
            about[key] = value
info_file.write_text(json.dumps(info, indent=4, ensure_ascii=False) + "\n")
PY
echo "$out: $(du -shL "$out" | cut -f1), was $(du -shL "$dataset" | cut -f1)"
