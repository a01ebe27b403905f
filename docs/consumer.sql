-- What the role of a consumer needs for seriatim.inbox_once and seriatim::Inbox, along with the rights on
-- its own tables. As the owner of schema seriatim in the consumer's database:
--   psql -d DATABASE -v role=billing -f docs/consumer.sql
GRANT USAGE ON SCHEMA seriatim TO :"role";
GRANT INSERT (consumer, event_id) ON seriatim.inbox TO :"role";
