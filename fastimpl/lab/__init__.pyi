from fastimpl.lab import backend as backend
from fastimpl.lab import data as data
from fastimpl.lab import distributed as distributed
from fastimpl.lab import pyg as pyg
from fastimpl.lab import training as training
