import fastimpl as fastimpl
import refimpl as refimpl
