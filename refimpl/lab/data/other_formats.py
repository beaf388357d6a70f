"""Formats that other libraries read: the lines of Python that hand them over."""

FILES = {
    ".gml": "networkx.read_gml",
    ".graphml": "networkx.read_graphml",
    ".gexf": "networkx.read_gexf",
    ".edgelist": "networkx.read_edgelist",
    ".adjlist": "networkx.read_adjlist",
    ".mtx": "scipy.io.mmread",
}
NETWORKX = ".gml", ".graphml", ".gexf"  # nodes have attributes there


def refuse_other_formats(path):
    """Raise ValueError with the lines that read a file of another format, if it is one.

    The file must exist.
    """
    suffix = path.suffix.lower()
    if suffix not in FILES:
        return
    made = "graph" if suffix in NETWORKX else "graph, features, labels"
    maker = "from_networkx" if suffix in NETWORKX else "from_arrays"
    raise ValueError(
        f"{path} is read in Python: graph = {FILES[suffix]}({str(path)!r}); "
        f"Dataset.{maker}({made}).save('FOLDER'); FOLDER is then a data set"
    )


def refuse_other_folders(folder):
    """Raise ValueError with the lines that read a LINQS or geom-gcn folder, if it is one."""
    contents = next(iter(sorted(folder.glob("*.content"))), None) if folder.is_dir() else None
    if contents is not None:
        cites = contents.with_suffix(".cites")
        raise ValueError(
            f"{folder} is in LINQS' format, read in Python: "
            f"nodes = pandas.read_csv({str(contents)!r}, sep='\\t', header=None); "
            f"edges = pandas.read_csv({str(cites)!r}, sep='\\t', header=None); "
            "Dataset.from_pandas(edges, nodes, id=0, label=nodes.columns[-1]).save('FOLDER'); "
            "FOLDER is then a data set"
        )
    if (folder / "out1_graph_edges.txt").is_file():
        edges, nodes = (
            str(folder / f"out1_{name}.txt") for name in ("graph_edges", "node_feature_label")
        )
        raise ValueError(
            f"{folder} is in geom-gcn's format, read in Python: "
            f"edges = pandas.read_csv({edges!r}, sep='\\t'); "
            f"nodes = pandas.read_csv({nodes!r}, sep='\\t'); "
            "nodes = nodes.join(nodes.pop('feature').str.split(',', expand=True).astype(float)); "
            "Dataset.from_pandas(edges, nodes).save('FOLDER'); FOLDER is then a data set"
        )
