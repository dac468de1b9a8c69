mod recorded;
mod table;
