"""TVM's models, tvm.script.relax: to be imported as a module, too, and refused on use."""

import sys

from workbench.tvm.not_carried import Missing

sys.modules[__name__] = Missing("tvm.script.relax")  # what the import then gives
