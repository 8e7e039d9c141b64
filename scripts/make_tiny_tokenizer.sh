#!/bin/sh
# Trains configs/tiny/tokenizer.model, the SentencePiece model of tests and of the sample world, from
# scripts/tiny_tokenizer_corpus.txt. The same version of SentencePiece gives the same file.
# Needs spm_train (Debian and Ubuntu: apt-get install sentencepiece).
set -eu
cd "$(dirname "$0")/.."
if ! command -v spm_train >/dev/null; then
  echo "spm_train was not found. Fix: apt-get install sentencepiece" >&2
  exit 2
fi
mkdir -p configs/tiny
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp scripts/tiny_tokenizer_corpus.txt "$work/corpus.txt"
# Special ids as umT5 has them. Every printable ASCII character has a piece, so that no plain
# English becomes <unk>.
ascii='!"#$%&'\''()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~'
(cd "$work" && spm_train --input=corpus.txt --model_prefix=tiny --model_type=unigram \
  --vocab_size=480 --character_coverage=1.0 --required_chars="$ascii" \
  --normalization_rule_name=identity --num_threads=1 --input_sentence_size=0 \
  --pad_id=0 --eos_id=1 --bos_id=2 --unk_id=3 --minloglevel=1)
cp "$work/tiny.model" configs/tiny/tokenizer.model
ls -l configs/tiny/tokenizer.model
