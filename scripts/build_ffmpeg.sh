#!/usr/bin/env bash
# Builds a small static FFmpeg from Debian's or Ubuntu's source package: the decoders that robot
# datasets need, and the encoders of PNG and JPEG. For scripts/bundle.sh; about four minutes on two cores.
#   scripts/build_ffmpeg.sh PREFIX
set -euo pipefail

prefix=${1:?usage: scripts/build_ffmpeg.sh PREFIX}
parts=(--disable-everything --disable-autodetect --disable-network --disable-programs --disable-doc
  --enable-static --enable-pic --enable-libdav1d --enable-zlib
  --enable-decoder=h264,hevc,libdav1d,mpeg4,mjpeg,vp9,png --enable-encoder=mjpeg,png
  --enable-demuxer=mov,matroska --enable-parser=h264,hevc,av1,mpeg4video,mjpeg,vp9,png
  --enable-muxer=mp4 --enable-protocol=file)
# With other parts than these it is built anew.
if [[ -e $prefix/parts && $(<"$prefix/parts") == "${parts[*]}" ]]; then
  echo "build_ffmpeg: $prefix is there already"
  exit 0
fi
for tool in nasm make gcc apt-get; do
  command -v "$tool" >/dev/null || { echo "build_ffmpeg: $tool is missing. Fix: apt-get install $tool" >&2; exit 2; }
done
if ! dpkg -s libdav1d-dev zlib1g-dev >/dev/null 2>&1; then
  echo "build_ffmpeg: Fix: apt-get install libdav1d-dev zlib1g-dev" >&2
  exit 2
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Source packages are off by default: switch them on for this one call, in lists of our own.
mkdir -p "$work/etc/parts" "$work/lists/partial"
for list in /etc/apt/sources.list.d/*.sources; do
  [[ -e $list ]] && sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/etc/parts/$(basename "$list")"
done
if [[ -e /etc/apt/sources.list ]]; then
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >"$work/etc/parts/main.list"
fi
options=(-o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$work/etc/parts"
         -o "Dir::State::Lists=$work/lists")
apt-get "${options[@]}" -qq update
(cd "$work" && apt-get "${options[@]}" -qq source --download-only ffmpeg)
mkdir "$work/source"
tar -xf "$work"/ffmpeg_*.orig.tar.xz -C "$work/source" --strip-components=1

cd "$work/source"
./configure --prefix="$prefix" "${parts[@]}" >"$work/configure.log" 2>&1 ||
  { tail -20 "$work/configure.log" >&2; exit 3; }
make -j"$(nproc)" >"$work/make.log" 2>&1 || { tail -20 "$work/make.log" >&2; exit 3; }
make install >/dev/null
echo "${parts[*]}" >"$prefix/parts"
echo "build_ffmpeg: installed into $prefix"
