SELECT name FROM seriatim.partition_outbox({step}) AS name
