import sys

print('trains', sys.argv)
