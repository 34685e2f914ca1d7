-- Words that the models share. Run once before them; paste it first when you run a model by hand.

-- An instant after the knowledge time is not known yet [STANDARD 0.5].
create or replace macro known(instant) as
    case when instant <= getvariable('as_of') then instant end;

-- Epoch milliseconds of an end; an open end lies beyond every instant.
create or replace macro end_ms(instant) as
    coalesce(epoch_ms(instant), getvariable('forever_ms'));

-- Types that are well when True, like Ready; all others tell of trouble when True [STANDARD 1.6].
create or replace macro is_positive_condition(type) as
    type like '%Ready' or type like '%Healthy';

-- Unknown fails closed whatever the polarity [STANDARD 1.6].
create or replace macro is_bad_condition(type, status) as
    case
        when is_positive_condition(type) then status <> 'True'
        else status in ('True', 'Unknown')
    end;

-- The instant of epoch milliseconds.
create or replace macro instant_of(ms) as make_timestamptz(cast(ms as bigint) * 1000);

-- A failure class if the taxonomy knows it; a check lists the ones it does not know.
create or replace macro known_class(given) as (
    select taxonomy.class
    from catalog.taxonomy as taxonomy
    where taxonomy.class = given
);

-- What makes two observations of a node the same row: it may be the root of several failures [4.7].
create or replace macro root_of(node_uid, gpu, source, value, at_ms) as
    {'node_uid': node_uid, 'gpu': gpu, 'source': source, 'value': value, 'at_ms': at_ms};

-- Whether an attempt is in the range that is being made; without a range all are
-- (goodput/warehouse/shards.py).
create or replace macro in_shard(attempt_id) as (
    getvariable('shard_first') is null
    or attempt_id between getvariable('shard_first') and getvariable('shard_last')
);
