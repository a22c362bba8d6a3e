"""Hook of mkdocs.yml: takes files outside of docs/ to which pages link into the site.

In the repository a page of docs/guide links to `../../bench/results/NAME.md`. The site has no folder docs/: pages of
docs/ are at its root, next to copies of the linked files, which keep their paths in the repository. The hook finds
these files, pages and others, and rewrites the links. So the same link leads to its target in both views.
"""

import pathlib
import posixpath
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")


def target_of(page: str, link: str) -> str | None:
    """Path in the repository of the file to which a page of the repository links, or None."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    if re.match(r"[a-z]+:", link) or path.startswith("..") or not (ROOT / path).is_file():
        return None
    return "docs/README.md" if path == "README.md" else path  # the site has one home


def site_path(path: str) -> str:
    """Path in the site's sources of a file of the repository."""
    return path.removeprefix("docs/")


def repository_path(path: str) -> str:
    """Path in the repository of a file of the site's sources."""
    return f"docs/{path}" if (ROOT / "docs" / path).is_file() else path


def rewritten(page: str, text: str) -> str:
    """The text of a page of the repository, with links as the site has them."""

    def replaced(link: re.Match) -> str:
        target = target_of(page, link[2])
        if target is None:
            return link[0]
        path = posixpath.relpath(site_path(target), posixpath.dirname(site_path(page)) or ".")
        return f"{link[1]}{path}{link[3] or ''}"

    return LINK.sub(replaced, text)


def on_files(files, config):
    """Adds the files outside of docs/ that can be reached by links."""
    from mkdocs.structure.files import File  # here, so that tests read this file without mkdocs

    pending = [repository_path(file.src_uri) for file in files if file.src_uri.endswith(".md")]
    known = {repository_path(file.src_uri) for file in files}
    while pending:
        page = pending.pop()
        for link in LINK.finditer((ROOT / page).read_text(encoding="utf-8")):
            target = target_of(page, link[2])
            if target is None or target in known or target.startswith("docs/"):
                continue
            known.add(target)
            files.append(File(target, str(ROOT), config["site_dir"], config["use_directory_urls"]))
            if target.endswith(".md"):
                pending.append(target)
    return files


def on_page_markdown(markdown, page, **_):
    """Rewrites the links of a page."""
    return rewritten(repository_path(page.file.src_uri), markdown)
