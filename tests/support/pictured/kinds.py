"""What is compared in pictures, kind by kind: of each something, or a run tells too little."""

from __future__ import annotations

KINDS = frozenset(
    line.strip()
    for line in """
    L1: amount
    L1: amount within
    L1: time
    L1: time within
    L1: words
    L2: amount
    L2: amount within
    L2: time
    L2: time within
    L2: words
    accesses in tables
    accesses of a cell
    accesses of warps in order
    accesses that the emulator logs
    addresses in tables
    addresses of sectors
    all cells
    all requests
    arithmetic: amount
    arithmetic: time
    arithmetic: words
    axes of loops at heads
    axes of requests
    banks in tables
    banks of lanes
    barriers in captions
    barriers or times on rows
    before or after a loop
    begins of what is on its way
    blocks in captions
    blocks in tables of launches
    blocks in tables of tiles
    blocks in the last wave
    blocks of a cell
    blocks of a group
    blocks of a launch
    blocks of a row
    blocks of a stretch
    blocks of launches
    blocks of statements of rows
    blocks on timelines
    blocks over their cells
    blocks over waves
    blocks that are shown inside
    blocks that are there
    blocks that have room
    blocks that run
    blocks that touch buffers
    blocks that work
    boxes in captions
    boxes of groups
    buffers in captions
    buffers in captions by name
    buffers of a warp
    buffers of bands
    buffers of requests
    buffers of statements
    buffers of statements of rows
    buffers that are not touched
    buffers that are on their way
    bytes asked of global memory
    bytes held in tables
    bytes kept in captions
    bytes of bands
    bytes of banks
    bytes of buffers
    bytes of lanes
    bytes of places
    bytes of sectors
    bytes of the step before
    bytes on bands
    bytes that warps hold in captions
    cells and registers in captions
    cells in captions
    cells in tables
    cells in tables of groups
    cells in tables of tiles
    cells of a group in words
    cells of a lane
    cells of boxes
    cells of fragments
    cells of groups
    cells of the last thread
    cells on lines of time
    cells that are computed
    cells that one lane holds
    cells under the pointer
    changes
    clocks in tables
    clocks of warps
    copies in cells
    copies in titles
    cost: barriers a block
    cost: blocks
    cost: global loads an output
    cost: global sectors
    cost: idle threads
    cost: shared bytes a block
    cost: shared loads an output
    cost: shared wavefronts
    cost: threads in each
    cost: wavefronts a shared read
    costs in words
    costs of a saved page
    costs of both
    costs without kernels
    counts of both
    device: amount
    device: time
    device: words
    dimensions in titles
    ends of what is on its way
    first lines
    groups that are not drawn
    heads of comparisons
    hues of rows
    idle lanes
    idle threads in tables
    idle threads of a group
    issue: amount
    issue: amount within
    issue: time
    issue: time within
    issue: words
    iterations at a time
    iterations in captions
    iterations in cells
    iterations of statements
    iterations of the step before
    lanes of banks
    lanes of fragments
    lanes of sectors
    lanes on boxes
    lanes on boxes of fragments
    lanes served together
    lanes that ask nothing
    lanes together in captions
    lanes with a thread
    lanes without a thread
    latency: amount
    latency: at least a load
    latency: one after the other
    latency: time
    latency: warps that are there
    launch: time
    launch: words
    lengths of rows
    lines in captions
    lines of buffers
    lines of loops
    lines of programs
    lines of the program before
    lines on bands
    lines that are the same
    loads for a buffer
    loads for all buffers
    loads in captions
    loads in tables
    loads of a cell in tables
    loops around blocks
    loops in captions
    loops of copies
    loops on bands
    loops that could be pipelines
    matrices over boxes
    memories in tables
    memories in tables of tiles
    modelled times
    multiprocessors
    multiprocessors on timelines
    multiprocessors that work
    names and times of marks
    names in cells
    names in statements
    names in tables
    names of blocks
    names of buffers
    names of cells
    names of costs
    names of fragments
    names of kernels
    names of loops at heads
    names of loops in words
    names of pipelines
    names of resources
    names of spans
    names of statements
    names on buffers
    names on rows
    names under the pointer
    numbers of a saved page
    numbers of banks or lanes
    numbers of fragments
    numbers of rows and columns
    numbers of turns
    numbers of warps
    numbers of wavefronts
    numbers of waves
    numbers that are dragged
    numbers that are refused
    numbers that follow
    operations
    operations a byte
    order of copies in kernels
    parts of turns
    percent of the longest
    percent of warps
    pictures of pages
    pictures that are refused
    pictures that are the same
    pictures that look different
    pictures that look the same
    pictures while a number is dragged
    pictures without requests
    places in captions
    places of a multiprocessor
    places of a multiprocessor at most
    places of blocks
    places of marks
    places on drawings
    planes of a sheet
    planes that are touched
    programs of links
    programs that are replayed
    rates on axes
    reads and writes in captions
    regions in tables
    regions in tables of tiles
    regions in words
    regions of groups
    registers of cells
    registers of fragments
    registers over boxes
    requests in captions
    requests of warps
    requests that are alike
    requests that take as much
    roles in tables
    room in titles
    rows in order
    rows of the bar
    rows on drawings
    rows or columns in captions
    rows that are folded
    rows that are seen
    rows that lanes give
    rows without statements
    sectors in captions
    sectors in tables
    sectors on drawings
    selections in captions
    shapes in titles
    shared: amount
    shared: amount within
    shared: time
    shared: time within
    shared: words
    shares of clocks
    shares of warps that are a most
    short names of sheets
    sides of a row
    signs of costs
    signs of rows
    sizes of axes of requests
    splits that follow
    stages in titles
    statements in captions
    statements in order
    statements in tables of clocks
    statements of a loop that could be a pipeline
    statements of a row
    statements of a turn
    statements of requests
    statements of rows
    statements of the step before
    steps in titles
    steps of links
    steps on drawings
    steps that are changed
    stores in captions
    stores in tables
    the least in captions
    the longest statement
    the roof of the bar
    the worst in captions
    threads in tables of lanes
    threads of a cell
    threads of a group
    threads of a row
    threads of a stretch
    threads of lanes
    threads that compute a cell again
    threads that share a sum
    threads without a cell
    threads without a cell in captions
    threads without a cell that are not drawn
    time by its formula
    time of launches
    time of the device
    times before beyond the axis
    times before in words
    times before on the axis
    times each
    times in all
    times in captions
    times in titles
    times loaded on bands
    times of a cell
    times of a group
    times of a group in words
    times of a row
    times of a stretch
    times of bands
    times of each statement
    times of other runs
    times of rows
    times of spans
    times of statements
    times on axes of rows
    times on bands
    times on sheets
    times or rows on axes
    titles of pictures
    turns in captions
    turns in tables
    turns of loops at heads
    turns of statements
    turns of waits
    turns of what is on its way
    turns under the pointer
    warps of a cell
    warps of a group
    warps of a row
    warps of a stretch
    warps that do nothing
    wavefronts in captions
    wavefronts in tables
    wavefronts of boxes
    waves
    waves in tables
    what a block takes
    what a multiprocessor has
    what is compared
    what is on bars
    what is outside of a loop
    what waits for data
    whether there are kernels
    which roof is the limit
    who a caption names
    who does copies
    who does copies in captions
    whole rows or columns
    words of bands in captions
    words of threads without a cell
    words on cells
    words that are not cut
    writers in tables
    """.strip().splitlines()
)
