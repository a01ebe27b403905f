-- Made at random by initdb; copies of the files share it. Some providers let nobody read it.
SELECT system_identifier::text FROM pg_control_system()
