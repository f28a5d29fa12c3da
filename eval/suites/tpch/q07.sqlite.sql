SELECT
  supplier_nation.n_name AS supp_nation,
  customer_nation.n_name AS cust_nation,
  CAST(STRFTIME('%Y', l_shipdate) AS INTEGER) AS l_year,
  SUM(l_extendedprice * (1 - l_discount)) AS revenue
FROM lineitem
JOIN supplier ON s_suppkey = l_suppkey
JOIN nation AS supplier_nation ON supplier_nation.n_nationkey = s_nationkey
JOIN orders ON o_orderkey = l_orderkey
JOIN customer ON c_custkey = o_custkey
JOIN nation AS customer_nation ON customer_nation.n_nationkey = c_nationkey
WHERE l_shipdate BETWEEN '1995-01-01' AND '1996-12-31'
  AND (
    (supplier_nation.n_name = 'FRANCE' AND customer_nation.n_name = 'GERMANY')
    OR (supplier_nation.n_name = 'GERMANY' AND customer_nation.n_name = 'FRANCE')
  )
GROUP BY supplier_nation.n_name, customer_nation.n_name, CAST(STRFTIME('%Y', l_shipdate) AS INTEGER)
ORDER BY supp_nation, cust_nation, l_year
