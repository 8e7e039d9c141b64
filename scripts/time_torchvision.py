#!/usr/bin/env python3
"""Crops, resizes, jitters and lays out clips as a PyTorch data pipeline does, and times it.

Usage: time_torchvision.py FOLDER     (`wamtrain bench --what data --torchvision` calls it)

FOLDER/job.json says what to do; FOLDER/clip_<i>.bin holds the recorded pictures of a clip, uint8
(views, frames, height, width, 3). Writes FOLDER/image_<i>.bin, uint8 (frames, canvas height, canvas
width, 3), and FOLDER/result.json: seconds for each clip (median, one thread) and what was used.

Where torchvision is not installed, its functions' tensor operations are stated here in plain torch,
and the result says so.
"""

import json
import pathlib
import statistics
import sys
import time

import numpy
import torch

try:
    import torchvision
    from torchvision.transforms.v2 import functional
except ImportError:
    torchvision = None


class PlainFunctions:
    """The formulas of torchvision.transforms.v2.functional for float pictures (N, 3, H, W)."""

    @staticmethod
    def crop(pictures, top, left, height, width):
        return pictures[..., top:top + height, left:left + width]

    @staticmethod
    def resize(pictures, size, antialias):
        return torch.nn.functional.interpolate(pictures, size=size, mode="bilinear",
                                               align_corners=False, antialias=antialias)

    @staticmethod
    def grey(pictures):
        red, green, blue = pictures.unbind(dim=-3)
        grey = red.mul(0.2989).add_(green, alpha=0.587).add_(blue, alpha=0.114)
        return grey.unsqueeze(dim=-3)

    @staticmethod
    def blend(pictures, others, factor):
        return pictures.mul(factor).add_(others, alpha=1.0 - factor).clamp_(0, 1)

    @staticmethod
    def adjust_brightness(pictures, factor):
        return pictures.mul(factor).clamp_(0, 1)

    @staticmethod
    def adjust_contrast(pictures, factor):
        mean = PlainFunctions.grey(pictures).mean(dim=(-3, -2, -1), keepdim=True)
        return PlainFunctions.blend(pictures, mean, factor)

    @staticmethod
    def adjust_saturation(pictures, factor):
        return PlainFunctions.blend(pictures, PlainFunctions.grey(pictures), factor)

    @staticmethod
    def to_hsv(pictures):
        red, green, _ = pictures.unbind(dim=-3)
        low, value = torch.aminmax(pictures, dim=-3)
        is_grey = value == low
        span = value - low
        ones = torch.ones_like(value)
        saturation = span / torch.where(is_grey, ones, value)
        span = torch.where(is_grey, ones, span)
        below = (value.unsqueeze(-3) - pictures) / span.unsqueeze(-3)
        below_red, below_green, below_blue = below.unbind(dim=-3)
        red_leads = value == red
        green_leads = (value == green).logical_and_(~red_leads)
        blue_leads = ~(red_leads | green_leads)
        from_green = below_red.add(2.0).sub_(below_blue).mul_(green_leads)
        from_red = below_blue.sub_(below_green).mul_(red_leads)
        from_blue = below_green.add_(4.0).sub_(below_red).mul_(blue_leads)
        hue = from_red.add_(from_green).add_(from_blue)
        return hue.mul_(1.0 / 6.0).add_(1.0).fmod_(1.0), saturation, value

    # Which of value, p, q, t red, green and blue are, by sixth of the turn.
    SELECT = torch.tensor([[0, 2, 1, 1, 3, 0], [3, 0, 0, 2, 1, 1], [1, 1, 3, 0, 0, 2]])

    @staticmethod
    def to_rgb(hue, saturation, value):
        rest = hue.mul(6)
        sector = torch.floor(rest)
        rest.sub_(sector)
        sector = sector.to(torch.int32).remainder_(6)
        along = saturation * rest
        flat = 1.0 - saturation
        q = (1.0 - along).mul_(value).clamp_(0, 1)
        t = along.add_(flat).mul_(value).clamp_(0, 1)
        p = flat.mul_(value).clamp_(0, 1)
        which = PlainFunctions.SELECT[:, sector].moveaxis(0, -3)
        return torch.stack((value, p, q, t), dim=-3).gather(-3, which)

    @staticmethod
    def adjust_hue(pictures, turns):
        hue, saturation, value = PlainFunctions.to_hsv(pictures)
        return PlainFunctions.to_rgb(hue.add_(turns).remainder_(1.0), saturation, value)


def transformed(clip, job, draws, functions):
    """(V, T, h, w, 3) uint8 -> (T, H, W, 3) uint8; all views in one stack, as the pipeline has it."""
    views, frames = clip.shape[:2]
    pictures = clip.flatten(0, 1).permute(0, 3, 1, 2).to(torch.float32) / 255
    pictures = functions.crop(pictures, draws["top"], draws["left"], job["crop_height"],
                              job["crop_width"])
    pictures = functions.resize(pictures, [job["view_height"], job["view_width"]], antialias=True)
    for name, factor in draws["steps"]:
        pictures = getattr(functions, f"adjust_{name}")(pictures, factor)
    pictures = (pictures * 255).to(torch.uint8).unflatten(0, (views, frames))
    canvas = torch.zeros((frames, 3, job["height"], job["width"]), dtype=torch.uint8)
    for place in job["places"]:
        view = pictures[place["view"]]
        if place["repeat_rows"] > 1:
            view = view.repeat_interleave(place["repeat_rows"], dim=-2)
        if place["repeat_columns"] > 1:
            view = view.repeat_interleave(place["repeat_columns"], dim=-1)
        rows = slice(place["top"], place["top"] + view.shape[-2])
        columns = slice(place["left"], place["left"] + view.shape[-1])
        canvas[:, :, rows, columns] = view
    return canvas.permute(0, 2, 3, 1).contiguous()


def main():
    folder = pathlib.Path(sys.argv[1])
    job = json.loads((folder / "job.json").read_text())
    torch.set_num_threads(1)
    functions = functional if torchvision else PlainFunctions
    shape = (job["views"], job["frames"], job["in_height"], job["in_width"], 3)
    seconds = []
    for i, draws in enumerate(job["draws"]):
        clip = torch.from_numpy(numpy.fromfile(folder / f"clip_{i}.bin", numpy.uint8)).reshape(shape)
        times = []
        for _ in range(job["warm_ups"] + job["repeats"]):
            start = time.perf_counter()
            image = transformed(clip, job, draws, functions)
            times.append(time.perf_counter() - start)
        seconds.append(statistics.median(times[job["warm_ups"]:]))
        image.numpy().tofile(folder / f"image_{i}.bin")
    by = f"torchvision {torchvision.__version__}" if torchvision else "torchvision's operations"
    used = f"{by} on torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"
    (folder / "result.json").write_text(json.dumps({"seconds": seconds, "by": used}))


if __name__ == "__main__":
    main()
