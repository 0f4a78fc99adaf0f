"""What is measured, each figure beside its yardstick. See README.md in this folder.

NumPy has one thread here, as in the program.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
