-- What an exit code means: the container's meaning, else torchrun's.
--
-- grain: exit_code

select exit_code, class, role, strength
from catalog.exit_codes
where form in ('container', 'torchrun')
qualify row_number() over (partition by exit_code order by form = 'torchrun', catalog_order) = 1
