"""A shop's database in RelBench's form of tables, made on the spot, and the graph of its keys.

A table has rows (`df`), a column of its own keys (`pkey_col`), columns with keys of other tables
(`fkey_col_to_pkey_table`) and perhaps a column of times (`time_col`), as ``relbench.base.Table``.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch_geometric.data import HeteroData

WEEKS, HORIZON = 40, 4  # of orders, and how far a task looks ahead
ORDERS = 12  # of a customer, on average


class Table(NamedTuple):
    """Rows with keys and perhaps times."""

    df: pd.DataFrame
    fkey_col_to_pkey_table: dict[str, str]
    pkey_col: str | None = None
    time_col: str | None = None


class Task(NamedTuple):
    """Rows of a task: at a time, will the next orders of a customer be good ones?"""

    customer: np.ndarray
    time: np.ndarray
    label: np.ndarray


def shop(customers):
    """Return ({name: Table}, {"train" and "test": Task}).

    A customer prefers good or bad products. A third of the customers change their mind, each in a
    random week. The products of the latest orders thus tell most about the orders to come. Orders
    after the time of a task would tell more.
    """
    rng, products = np.random.default_rng(0), max(20, customers // 10)
    good = rng.random(products) < 0.5
    turns, before = rng.integers(0, 3 * WEEKS, customers), rng.random(customers) < 0.5
    customer = rng.integers(0, customers, ORDERS * customers)
    week = np.sort(rng.integers(0, WEEKS, len(customer)))
    wants = before[customer] ^ (week >= turns[customer])
    wants ^= rng.random(len(customer)) < 0.1
    product = np.where(
        wants, *(rng.choice(np.flatnonzero(kind), len(customer)) for kind in (good, ~good))
    )
    quality = good + 0.7 * rng.standard_normal(products)
    age = rng.integers(18, 80, customers)
    database = {
        "customers": Table(pd.DataFrame({"id": range(customers), "age": age}), {}, "id"),
        "products": Table(pd.DataFrame({"id": range(products), "quality": quality}), {}, "id"),
        "orders": Table(
            pd.DataFrame({"customer": customer, "product": product, "week": week}),
            {"customer": "customers", "product": "products"},
            time_col="week",
        ),
    }
    wanted = {
        part: task_at(weeks, customer, week, good[product])
        for part, weeks in (("train", (15, 20, 25)), ("test", (32,)))
    }
    return database, wanted


def task_at(weeks, customer, week, good):
    """Return a row for each customer with orders within `HORIZON` weeks after each of `weeks`."""
    found = []
    for now in weeks:
        ahead = (week > now) & (week <= now + HORIZON)
        counts = np.bincount(customer[ahead], minlength=customer.max() + 1)
        sums = np.bincount(customer[ahead], good[ahead], minlength=len(counts))
        who = np.flatnonzero(counts)
        found.append((who, np.full(len(who), now), (2 * sums > counts)[who].astype(np.float32)))
    return Task(*map(np.concatenate, zip(*found, strict=True)))


def customers_graph(database):
    """Return tables as a graph: a node for each row, an edge both ways for each foreign key."""
    data = HeteroData()
    for name, table in database.items():
        keys = {table.pkey_col, table.time_col, *table.fkey_col_to_pkey_table}
        columns = table.df.drop(columns=[key for key in keys if key]).to_numpy(np.float32)
        columns = (columns - columns.mean(axis=0)) / columns.std(axis=0)
        ones = np.ones((len(table.df), 1), np.float32)  # a table may have keys alone
        data[name].x = torch.from_numpy(np.hstack([ones, columns]))
        if table.time_col:
            data[name].time = torch.tensor(table.df[table.time_col].to_numpy())
    for name, table in database.items():
        for column, other in table.fkey_col_to_pkey_table.items():
            place = pd.Index(database[other].df[database[other].pkey_col])
            ends = np.stack([np.arange(len(table.df)), place.get_indexer(table.df[column])])
            edge_index = torch.from_numpy(ends)
            data[name, f"f2p_{column}", other].edge_index = edge_index
            data[other, f"rev_f2p_{column}", name].edge_index = edge_index.flip(0)
    return data
