"""Ops as functions of tensors. In a network that is being built they are nodes; elsewhere they run at once."""

from partita import _later
from partita.ops import later
from partita.ops.creation import *  # noqa: F401,F403
from partita.ops.derived import *  # noqa: F401,F403
from partita.ops.elementwise import *  # noqa: F401,F403
from partita.ops.layers import *  # noqa: F401,F403
from partita.ops.jacobians import *  # noqa: F401,F403
from partita.ops.mapping import *  # noqa: F401,F403
from partita.ops.losses import *  # noqa: F401,F403
from partita.ops.reductions import *  # noqa: F401,F403
from partita.ops.shapes import *  # noqa: F401,F403
from partita.ops.activations import *  # noqa: F401,F403
from partita.ops.arithmetic import *  # noqa: F401,F403
from partita.ops.arranged import *  # noqa: F401,F403
from partita.ops.batches import *  # noqa: F401,F403
from partita.ops.bits import *  # noqa: F401,F403
from partita.ops.contractions import *  # noqa: F401,F403
from partita.ops.drawn import *  # noqa: F401,F403
from partita.ops.lines import *  # noqa: F401,F403
from partita.ops.older_names import *  # noqa: F401,F403
from partita.ops.other_losses import *  # noqa: F401,F403
from partita.ops.pads import *  # noqa: F401,F403
from partita.ops.patches import *  # noqa: F401,F403
from partita.ops.picked import *  # noqa: F401,F403
from partita.ops.program_tools import *  # noqa: F401,F403
from partita.ops.resampling import *  # noqa: F401,F403
from partita.ops.reversal import *  # noqa: F401,F403
from partita.ops.scattered import *  # noqa: F401,F403
from partita.ops.triangles import *  # noqa: F401,F403
from partita.ops.angles import *  # noqa: F401,F403
from partita.ops.searched import *  # noqa: F401,F403
from partita.ops.support import F, as_tensor, apply_op, attributes, is_number, run  # noqa: F401

for _name in ("Sequence", "annotations"):  # of the modules, for their annotations
    del globals()[_name]
LATER = _later.places_of(later.FUNCTIONS, "partita.ops")
__getattr__, __dir__ = _later.names_later(globals(), LATER | _later.places_of(later.INNER, "partita.ops"))
