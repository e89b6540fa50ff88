"""What the operating system closes to the process that asks models of strangers.

On Linux, Landlock closes files and programs, a filter of system calls (seccomp) what changes files
without writing to them, sockets and other ways out. Each is asked for, and what it does not close
is told: a wall that is missing must be known.
"""

import ctypes
import os
import platform
import signal
import sys
from contextlib import suppress
from functools import cache

# What a process can do where no wall closes it, in the words of a sentence.
FILES = "write to files"
PROGRAMS = "start programs"
NETWORK = "use the network"
CHANGES = "change modes, owners and times of files and use local sockets"
SIGNALS = "send signals to other programs"
DOORS = (FILES, PROGRAMS, NETWORK, CHANGES, SIGNALS)

# Numbers of Linux, the same on all processors.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_PDEATHSIG, _SET_SECCOMP, _SET_NO_NEW_PRIVS = 1, 22, 38
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
# Kinds of access to files by the version of Landlock that first knew them.
_ACCESS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_SIZES = {1: 8, 4: 16, 6: 24}  # of the structure


def tell_open_doors(doors):
    """Tell in a sentence what is not closed; empty if all is."""
    if not doors:
        return ""
    return (
        "This system does not keep the process that asks the model from all it could do. It can "
        f"{'; '.join(doors)}. Linux from version 5.13 on closes files and programs (Landlock), and "
        "a filter of system calls the rest."
    )


@cache
def _load_system():
    return ctypes.CDLL(None, use_errno=True)


def build_walls(places):
    """Close what the system can close to this process; return what stays open."""
    if sys.platform != "linux":
        return list(DOORS)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where the memory of the machine ends, this process does
    system = _load_system()
    system.prctl(_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    has_own_network = not system.unshare(_NEW_NETWORK)
    if not has_own_network:
        has_own_network = not system.unshare(_NEW_NETWORK | _NEW_USER)
    system.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version, is_filtered = _restrict_files(places), _filter_calls()
    closed = {
        FILES: version >= 1,
        PROGRAMS: version >= 1 or is_filtered,
        NETWORK: has_own_network or is_filtered,
        CHANGES: is_filtered,
        SIGNALS: version >= 6,
    }
    return [door for door in DOORS if not closed[door]]


def _restrict_files(places):
    """Close files elsewhere to writing and running; return the version of Landlock, or 0."""
    system = _load_system()
    version = system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return 0
    files = sum(access for first, access in _ACCESS.items() if first <= version)
    handled = files & ~(_READ_FILE | _READ_DIR)
    network, scopes = 3 if version >= 4 else 0, 3 if version >= 6 else 0
    size = max((first, size) for first, size in _SIZES.items() if first <= version)[1]
    closed = (ctypes.c_uint64 * 3)(handled, network, scopes)
    ruleset = system.syscall(_CREATE_RULESET, closed, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return 0
    rules = dict.fromkeys(places, handled & ~_EXECUTE) | {os.devnull: _WRITE_FILE}
    for path, allowed in rules.items():
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = allowed.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        system.syscall(_ADD_RULE, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0))
        os.close(place)
    failed = system.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)
    return 0 if failed else version


# Calls that are refused, with their numbers on x86-64 and on ARM, which lacks some.
_REFUSED = {
    # modes, owners, times and attributes of files, of which Landlock knows nothing
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "utimensat": (280, 88),
    "futimesat": (261, None),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "truncate": (76, 45),
    # sockets; a pair of them, which pipes of Python are, leads nowhere
    "socket": (41, 198),
    "bind": (49, 200),
    "listen": (50, 201),
    "connect": (42, 203),
    # programs, and other processes of the user
    "execve": (59, 221),
    "execveat": (322, 281),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # memory, messages and keys that other processes share
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    # rings, which make calls that no filter sees, and programs in the kernel
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    # the machine
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "syslog": (103, 116),
}
# Calls that Linux got after this one was written are taken for unknown to the kernel.
_FIRST_UNKNOWN = 463
# Limits of resources: those of other processes are refused.
_PRLIMIT = (302, 261)
# Controls of devices and files by which a terminal is typed into, or attributes are set.
_IOCTL = (16, 29)
_REFUSED_CONTROLS = (0x5412, 0x541C, 0x40086602, 0x401C5820)

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}

# Instructions of the filter, and what it answers.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
# Places of the number, the processor and the lower half of an argument in what a filter reads.
_NUMBER, _PROCESSOR, _FIRST, _SECOND = 0, 4, 16, 24


class _FilterInstruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("if_true", ctypes.c_uint8),
        ("if_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("start", ctypes.POINTER(_FilterInstruction)))


def _write_filter(place, processor):
    """Return the instructions of the filter for one kind of processor."""
    refuse, allow = (_RETURN, 0, 0, _ERROR | _EPERM), (_RETURN, 0, 0, _ALLOW)
    lines = [
        (_LOAD, 0, 0, _PROCESSOR),
        (_IF_EQUAL, 1, 0, processor),
        refuse,
        (_LOAD, 0, 0, _NUMBER),
        (_IF_AT_LEAST, 0, 1, _FIRST_UNKNOWN),
        (_RETURN, 0, 0, _ERROR | _ENOSYS),
    ]
    for numbers in _REFUSED.values():
        if numbers[place] is not None:
            lines += [(_IF_EQUAL, 0, 1, numbers[place]), refuse]
    # Zero is the process itself.
    lines += [(_IF_EQUAL, 0, 4, _PRLIMIT[place]), (_LOAD, 0, 0, _FIRST)]
    lines += [(_IF_EQUAL, 0, 1, 0), allow, refuse]
    lines += [(_IF_EQUAL, 1, 0, _IOCTL[place]), allow, (_LOAD, 0, 0, _SECOND)]
    for control in _REFUSED_CONTROLS:
        lines += [(_IF_EQUAL, 0, 1, control), refuse]
    return [*lines, allow]


def _filter_calls():
    """Refuse system calls from now on; return whether the kernel does so."""
    if platform.machine() not in _MACHINES or sys.maxsize < 2**32:
        return False
    lines = _write_filter(*_MACHINES[platform.machine()])
    instructions = (_FilterInstruction * len(lines))(*(_FilterInstruction(*line) for line in lines))
    program = _FilterProgram(len(lines), instructions)
    filters = 2  # SECCOMP_MODE_FILTER
    return _load_system().prctl(_SET_SECCOMP, filters, ctypes.byref(program), 0, 0) == 0
