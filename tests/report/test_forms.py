"""One record in four forms: each has every finding with its command."""

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.report.sample import document

from attncost.core.errors import ShapeError
from attncost.report.document import Attachment
from attncost.report.forms import form_of
from attncost.report.html import html
from attncost.report.plain import dumped


def plain(shown):
    """Return words alone: folded lines and marks of Markdown or HTML do not count."""
    return re.sub(r"[^\w=]+|&#x27;", "", re.sub(r"</?[a-z][^>]*>", "", shown))


@pytest.mark.parametrize("suffix", [".html", ".md", ".json", ".txt", ".HTML"])
def test_every_form_has_each_finding_and_its_command(suffix):
    said = plain(form_of(Path(f"report{suffix}"))(document()))
    for finding in document().findings:
        assert plain(finding.text) in said
        assert plain(finding.command) in said
    assert "avx512f" in said, "where it was measured"


@pytest.mark.parametrize("name", ["report.pdf", "report", ".html", "report.html.gz"])
def test_an_unknown_form_is_refused_with_those_that_there_are(name):
    with pytest.raises(ShapeError, match=r"must end with .html, .md, .json or .txt"):
        form_of(Path(name))


def links(page):
    return dict(re.findall(r'href="data:[a-z/]+;base64,([^"]*)" download="([^"]*)"', page))


def test_a_page_carries_its_own_record_and_files_that_belong_to_it():
    samples = b'{"seconds": 1}\n' * 10_000
    carrying = replace(document(), attachments=(Attachment("Samples", "samples.jsonl", samples),))
    found = {name: base64.b64decode(data) for data, name in links(html(carrying)).items()}
    assert gzip.decompress(found["samples.jsonl.gz"]) == samples
    assert json.loads(found["attncost-report.json"]) == json.loads(dumped(document()))
    assert html(carrying) == html(carrying), "no time is in it"


def test_what_would_make_a_page_too_large_is_left_out_and_said(generator):
    noise = bytes(torch.randint(256, (900_000,), generator=generator).tolist())
    page = html(replace(document(), attachments=(Attachment("Noise", "noise.bin", noise),)))
    assert len(page) < 1_000_000
    assert list(links(page).values()) == ["attncost-report.json"]
    assert "Noise: noise.bin would make this page too large to carry it." in page
