-- Nobody writes it from here on; reads go on, and the fence does not count this lock.
LOCK TABLE {partition} IN SHARE MODE
